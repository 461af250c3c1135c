#pragma once
#include <string>
#include <vector>

namespace podjail::python {

/// "no function handler; did you mean handle_it?" or, where none is near, which ones there are. `defined` are the names the script does
/// define.
std::string no_function_message(const std::string& wanted, const std::vector<std::string>& defined);

}  // namespace podjail::python
