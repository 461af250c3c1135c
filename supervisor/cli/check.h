#pragma once
#include <string>
#include <vector>

#include "policy/policy.h"

namespace podjail {

enum class CheckFormat { text, json, sarif };

/// `podjail check`: files, folders (every *.py in them) and "-" (stdin). Prints to stdout. Returns 0; 65 where a script is rejected; 66
/// where one can't be read, is no Python text, or is a folder without any; 70, 77 where nothing could be checked.
int check_command(const Policy& policy, const std::vector<std::string>& paths, CheckFormat format);

}  // namespace podjail
