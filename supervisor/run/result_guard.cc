#include "run/result_guard.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "run/mounts.h"
#include "sys/proc_read.h"

namespace podjail {
namespace {

Expected<std::filesystem::path> real_path(const std::string& path) {
  std::error_code error;
  std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) return fail("resolve", error.value(), path);
  return real;
}

Expected<bool> has_parent(const std::filesystem::path& real, const struct stat& wanted) {
  for (std::filesystem::path folder = real;; folder = folder.parent_path()) {
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0) return fail("stat", errno, folder.string());
    if (status.st_dev == wanted.st_dev && status.st_ino == wanted.st_ino) return true;
    if (folder == folder.root_path()) return false;
  }
}

Expected<void> refuse_beneath(const std::string& root, const std::string& path, const Mounts& mounts) {
  struct stat wanted {};
  if (::stat(root.c_str(), &wanted) != 0) return {};
  const std::string why = path + " lies beneath filesystem.write " + root;
  const std::filesystem::path real = TRY(real_path(path));
  if (TRY(has_parent(real, wanted))) return fail(why + ": the script could change it");
  const auto real_root = real_path(root);
  if (!real_root && !S_ISDIR(wanted.st_mode)) return {};  // /dev/stdout and its kin may be a pipe
  const auto point = mounts.find_within(TRY(real_root).native(), real.native());
  if (point) return fail(why + " by another mount of its volume, at " + *point + ": the script could change it");
  return {};
}

}  // namespace

Expected<void> refuse_writable(std::span<const std::string> paths, std::span<const std::string> writable_roots) {
  if (writable_roots.empty()) return {};
  const auto text = read_proc_file("/proc/self/mountinfo");
  const auto mounts = text ? Mounts::parse(*text) : std::unexpected(text.error());
  if (!mounts) return fail("can't tell what lies beneath filesystem.write: " + mounts.error().message());
  for (const std::string& root : writable_roots) {
    for (const std::string& path : paths) TRY_VOID(refuse_beneath(root, path, *mounts));
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
