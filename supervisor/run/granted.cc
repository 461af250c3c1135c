#include "run/granted.h"

#include <filesystem>
#include <system_error>

namespace podjail {

std::string real_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::weakly_canonical(path, error);
  return error ? path : found.string();
}

bool is_beneath(std::string_view path, std::string_view folder) {
  if (folder.empty()) return false;
  if (folder == "/" || path == folder) return true;
  return path.starts_with(folder) && path[folder.size()] == '/';
}

std::uint64_t granted(const LandlockPlan& plan, const std::string& path) {
  std::uint64_t access = 0;
  for (const LandlockPath& rule : plan.paths) {
    if (is_beneath(path, real_path(rule.path))) access |= rule.access;
  }
  return access;
}

}  // namespace podjail
