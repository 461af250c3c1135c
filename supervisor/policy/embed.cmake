# Included by each CMakeLists.txt that builds supervisor/policy (source file properties are per directory): where profiles.cc finds the files that it embeds, and that it is
# compiled again when one of them changes. The compiler's own dependency file doesn't list .incbin.
cmake_path(SET PODJAIL_POLICIES_DIR NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../policies")
file(GLOB PODJAIL_POLICY_FILES CONFIGURE_DEPENDS "${PODJAIL_POLICIES_DIR}/*.json" "${PODJAIL_POLICIES_DIR}/schema/*.json")
set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/profiles.cc" PROPERTIES
  COMPILE_DEFINITIONS "PODJAIL_POLICIES_DIR=\"${PODJAIL_POLICIES_DIR}\""
  OBJECT_DEPENDS "${PODJAIL_POLICY_FILES}")
