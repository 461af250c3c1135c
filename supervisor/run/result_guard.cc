#include "run/result_guard.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "sys/files.h"

namespace podjail {

Expected<void> refuse_writable(const std::string& path, std::span<const std::string> writable_roots) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) return fail("resolve", error.value(), path);
  for (const std::string& root : writable_roots) {
    struct stat wanted {};
    if (::stat(root.c_str(), &wanted) != 0) continue;
    for (std::filesystem::path folder = real;; folder = folder.parent_path()) {
      struct stat status {};
      if (::stat(folder.c_str(), &status) != 0) return fail("stat", errno, folder.string());
      if (status.st_dev == wanted.st_dev && status.st_ino == wanted.st_ino) {
        return fail(path + " lies beneath filesystem.write " + root + ": the script could change it");
      }
      if (folder == folder.root_path()) break;
    }
  }
  return {};
}

std::string entry_holding(const std::string& folder, const std::string& path) {
  std::error_code error;
  const std::filesystem::path real_folder = std::filesystem::canonical(folder, error);
  const std::filesystem::path real = error ? std::filesystem::path() : std::filesystem::canonical(path, error);
  if (error) return {};
  const std::filesystem::path relative = real.lexically_relative(real_folder);
  return relative.empty() || *relative.begin() == ".." ? std::string() : relative.begin()->string();
}

}  // namespace podjail
