#pragma once
#include <span>

#include "base/error.h"

namespace podjail::python {

/// Starts CPython exactly as `python3 ARGV[1]…` would start it, up to but not including the script: arguments, environment, paths, locale,
/// site, signals. Errors: CPython's own, or a standard library that belongs to another Python than the one that is built in (checked
/// first).
Expected<void> start_interpreter(std::span<char*> argv);

}  // namespace podjail::python
