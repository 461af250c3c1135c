#pragma once
#include <span>
#include <string>

#include "base/error.h"

namespace podjail {

/// Refuses paths that lie beneath one of what the script may write: by device and inode along their parents (a link or another spelling
/// changes nothing), and by the mounts (run/mounts.h), as one volume can be mounted twice. What does not exist can't be reached. Errors:
/// the path and the root, for invalid_policy; also where it can't be told.
Expected<void> refuse_writable(std::span<const std::string> paths, std::span<const std::string> writable_roots);

/// Which entry of `folder` holds `path` (also where it is that entry): its name; "." where they are the same; empty where `path` lies
/// elsewhere.
std::string entry_holding(const std::string& folder, const std::string& path);

}  // namespace podjail
