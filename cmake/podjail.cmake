# One function per kind of target, so that every target is built with the same rules.

add_library(podjail_options INTERFACE)
target_include_directories(podjail_options INTERFACE ${CMAKE_SOURCE_DIR}/supervisor)
target_compile_options(podjail_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wimplicit-fallthrough -Werror
  -Wno-restrict # GCC 12 sees overlaps that are not there (GCC bug 105651)
  -Wno-missing-field-initializers -Wno-pedantic
  -fstack-protector-strong -fno-strict-overflow -fvisibility=hidden)
target_compile_definitions(podjail_options INTERFACE PODJAIL_VERSION="${PROJECT_VERSION}" SPDLOG_FMT_EXTERNAL_HO FMT_HEADER_ONLY)
if(PODJAIL_SANITIZE)
  target_compile_options(podjail_options INTERFACE -fno-omit-frame-pointer
    -Wno-maybe-uninitialized) # the sanitizers' code hides from GCC 12 what is initialised, in libstdc++'s own headers
else()
  target_compile_definitions(podjail_options INTERFACE $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=2>)
endif()

# Sanitizers are a property of a link, so targets ask for them by name. podjail-python takes only UBSan: AddressSanitizer's shadow memory can't
# live under RLIMIT_DATA, which every run sets.
add_library(podjail_asan INTERFACE)
add_library(podjail_ubsan INTERFACE)
if(PODJAIL_SANITIZE)
  target_compile_options(podjail_asan INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all)
  target_link_options(podjail_asan INTERFACE -fsanitize=address,undefined)
  target_compile_options(podjail_ubsan INTERFACE -fsanitize=undefined -fno-sanitize-recover=all)
  target_link_options(podjail_ubsan INTERFACE -fsanitize=undefined -static-libubsan)
endif()

# podjail_library(NAME DEPENDS…): the module supervisor/NAME as a static library podjail_NAME from all its .cc files.
# Both binaries use base, sys, script, policy and wire; these are built twice, as the runner is without PIE and without ASan.
function(podjail_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc)
  add_library(podjail_${name} STATIC ${sources})
  target_link_libraries(podjail_${name} PUBLIC podjail_options podjail_asan)
  set_target_properties(podjail_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(podjail_${name} PRIVATE -fPIE)
  foreach(dependency IN LISTS ARGN)
    target_link_libraries(podjail_${name} PUBLIC podjail_${dependency})
  endforeach()
endfunction()

# podjail_test(NAME SOURCES… LIBRARIES…): one GoogleTest binary, registered test by test.
function(podjail_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} podjail_asan GTest::gtest_main GTest::gmock)
  gtest_discover_tests(${name} PROPERTIES LABELS unit DISCOVERY_TIMEOUT 60)
endfunction()
