#pragma once
#include <span>
#include <string>

#include "base/error.h"

namespace podjail {

/// Refuses a `path` that lies beneath one of the folders that the script may write, compared by device and inode along its parents (a link
/// or another spelling changes nothing). A folder that does not exist can't be reached. Errors: `path` and the root, for invalid_policy.
Expected<void> refuse_writable(const std::string& path, std::span<const std::string> writable_roots);

/// Which entry of `folder` holds `path` (also where it is that entry): its name; "." where they are the same; empty where `path` lies
/// elsewhere.
std::string entry_holding(const std::string& folder, const std::string& path);

}  // namespace podjail
