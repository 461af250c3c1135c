#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"

namespace podjail::python {

/// PY_VERSION_HEX of a CPython executable or libpython, from its symbol Py_Version (exported since 3.11); nullopt where the file has none
/// or can't be read. Reads a few pages of it.
std::optional<std::uint32_t> python_version_of(const std::string& elf_file);

/// The standard library comes with `python_executable` and must be of the same patch level as the interpreter that runs it: extension
/// modules use CPython's internals (3.11.2 on the library of 3.11.7 fails in _ssl). Where the version can't be found (an executable that
/// only loads libpython from elsewhere), nothing is said.
Expected<void> check_python_version(const std::string& python_executable);

/// "3.11.2"
std::string version_text(std::uint32_t hex);

}  // namespace podjail::python
