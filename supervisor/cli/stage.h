#pragma once
#include <string>
#include <vector>

namespace podjail {

/// podjail stage DIR...: makes each folder, and what is missing above it, for this user, 0755. One that is there already is left as it is,
/// if this user can write it. A link anywhere in a path is refused: whoever wrote the volume could have put it there. Returns the exit
/// code.
int stage(const std::vector<std::string>& folders);

}  // namespace podjail
