#include "sys/files.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <vector>

#include "sys/dir.h"

namespace podjail {
namespace {

constexpr std::size_t kMaxDepth = 128;  // folders; each costs a descriptor while it is measured

// Opens a folder for reading its entries; gives its owner the permissions first where a chmod took them away.
Dir open_dir(int parent, const char* name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  struct stat status {};
  if (::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(status.st_mode)) return {};
  // Checked not to be a link, and nothing runs that could swap it. A refusal shows in the open.
  if ((status.st_mode & S_IRWXU) != S_IRWXU) (void)!::fchmodat(parent, name, S_IRWXU, 0);
  return read_entries(Fd(::openat(parent, name, kFlags)));
}

Expected<Fd> open_resolved(int folder, const std::string& path, int flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = resolve;
  long fd = -1;
  do {
    fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
  } while (fd < 0 && errno == EAGAIN);  // a rename raced with the walk (openat2(2))
  if (fd < 0) return fail("open", errno, path);
  return Fd(static_cast<int>(fd));
}

}  // namespace

Expected<Fd> open_at(int folder, const std::string& path, int flags, mode_t mode) {
  const int fd = ::openat(folder, path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) return fail("open", errno, path);
  return Fd(fd);
}

Expected<Fd> open_beneath(int folder, const std::string& path, int flags) {
  return open_resolved(folder, path, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

Expected<Fd> open_within(int folder, const std::string& path, int flags) {
  return open_resolved(folder, path, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
}

Expected<std::string> read_all(int fd, std::size_t limit) {
  std::string bytes;
  std::size_t size = 0;
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    if (static_cast<std::uint64_t>(status.st_size) > limit) return fail("read", EFBIG);
    bytes.resize(static_cast<std::size_t>(status.st_size) + 1);  // one more, so that the end is seen without another round
  }
  while (true) {
    if (size == bytes.size()) bytes.resize(size + 65536);
    const ssize_t n = ::read(fd, bytes.data() + size, bytes.size() - size);
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail("read", errno);
    }
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
    if (size > limit) return fail("read", EFBIG);
  }
  bytes.resize(size);
  return bytes;
}

Expected<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail("write", errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Expected<void> copy_contents(int from, int to, std::uint64_t limit, const std::function<bool()>& stop) {
  struct stat status {};
  if (::fstat(from, &status) != 0) return fail("stat", errno);
  if (static_cast<std::uint64_t>(status.st_size) > limit) return fail("copy", EFBIG);
  if (::ioctl(to, FICLONE, from) == 0) return {};
  constexpr std::size_t kChunk = 64U << 20;
  std::uint64_t copied = 0;
  bool by_kernel = true;  // not across some file systems, nor for what says that it is empty (procfs, some FUSE)
  std::vector<char> buffer;
  while (true) {
    if (copied != 0 && stop()) return fail("copy", ECANCELED);
    ssize_t n = by_kernel ? ::copy_file_range(from, nullptr, to, nullptr, kChunk, 0) : 0;
    if (by_kernel && (n < 0 ? errno != EINTR && errno != ENOSPC && errno != EIO : n == 0 && copied == 0)) {
      by_kernel = false;
      buffer.resize(1U << 20);
    }
    if (!by_kernel) {
      n = ::read(from, buffer.data(), buffer.size());
      if (n > 0) TRY_VOID(write_all(to, {buffer.data(), static_cast<std::size_t>(n)}));
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail("copy", errno);
    if (n == 0) return {};
    copied += static_cast<std::uint64_t>(n);
    if (copied > limit) return fail("copy", EFBIG);
  }
}

Expected<Fd> sealed_memfd(const char* name, std::string_view bytes) {
  Fd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return fail("memfd_create", errno);
  TRY_VOID(write_all(fd.get(), bytes));
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return fail("rewind a memfd", errno);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) return fail("seal a memfd", errno);
  return fd;
}

Expected<void> make_folder(int parent, const std::string& name, mode_t mode) {
  if (::mkdirat(parent, name.c_str(), mode) != 0) return fail("make folder", errno, name);
  return {};
}

Expected<void> make_folders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fail("make folder", error.value(), path);
  return {};
}

namespace {

// Unlinks everything in `folder`; a folder in it that isn't empty is moved to `top`, under a name of its own.
void empty_folder(DIR* folder, int top, std::uint64_t& counter, std::optional<Error>& first) {
  while (const dirent* const entry = ::readdir(folder)) {
    if (is_dot(entry->d_name)) continue;
    const int here = ::dirfd(folder);
    if (::unlinkat(here, entry->d_name, 0) == 0 || ::unlinkat(here, entry->d_name, AT_REMOVEDIR) == 0) continue;
    if (errno == ENOTEMPTY || errno == EEXIST) {
      // Moving a folder changes its "..", which takes write permission on it.
      (void)!::fchmodat(here, entry->d_name, S_IRWXU, 0);
      const std::string name = ".podjail-remove-" + std::to_string(++counter);
      if (::renameat2(here, entry->d_name, top, name.c_str(), RENAME_NOREPLACE) == 0) continue;
    }
    if (!first) first = Error{"remove", errno, entry->d_name};
  }
}

}  // namespace

// However deep the tree is, three descriptors are open at a time: what a folder holds is moved up to `name` before the folder itself goes.
Expected<void> remove_tree(int parent, const std::string& name) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  std::optional<Error> first;
  std::uint64_t counter = 0;
  for (bool again = true; again && !first;) {
    again = false;
    const Dir top = open_dir(parent, name.c_str());
    if (!top) return fail("open", errno, name);
    while (const dirent* const entry = ::readdir(top.get())) {
      if (is_dot(entry->d_name)) continue;
      again = true;
      if (::unlinkat(::dirfd(top.get()), entry->d_name, 0) == 0) continue;
      const std::string below = entry->d_name;
      if (const Dir folder = open_dir(::dirfd(top.get()), below.c_str())) empty_folder(folder.get(), ::dirfd(top.get()), counter, first);
      if (::unlinkat(::dirfd(top.get()), below.c_str(), AT_REMOVEDIR) != 0 && !first) first = Error{"remove folder", errno, below};
    }
  }
  if (first) return std::unexpected(*first);
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0) return fail("remove folder", errno, name);
  return {};
}

TreeSize measure_tree(int folder, std::uint64_t max_bytes, std::uint64_t max_files, bool unlock) {
  TreeSize size;
  std::vector<Dir> levels;
  if (unlock) (void)!::fchmod(folder, S_IRWXU);
  if (Dir top = read_entries(Fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)))) levels.push_back(std::move(top));
  while (!levels.empty() && size.bytes <= max_bytes && size.files <= max_files && !size.too_deep) {
    DIR* const dir = levels.back().get();
    const dirent* const entry = ::readdir(dir);
    if (entry == nullptr) {
      levels.pop_back();
      continue;
    }
    if (is_dot(entry->d_name)) continue;
    struct stat status {};
    if (::fstatat(::dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;  // it went away meanwhile
    ++size.files;
    size.bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
    if (!S_ISDIR(status.st_mode)) continue;
    size.too_deep = levels.size() >= kMaxDepth;
    if (unlock) {
      if (Dir below = open_dir(::dirfd(dir), entry->d_name)) levels.push_back(std::move(below));
      continue;
    }
    // No permission: the final count unlocks it.
    Dir below = read_entries(Fd(::openat(::dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)));
    if (below) levels.push_back(std::move(below));
  }
  return size;
}

std::string describe_owner(const std::string& path) {
  struct stat status {};
  std::string nearest = path;
  while (::stat(nearest.c_str(), &status) != 0) {
    const std::size_t slash = nearest.rfind('/');
    if (slash == std::string::npos || nearest == "/") return {};
    nearest.resize(std::max<std::size_t>(slash, 1));
  }
  char mode[8];
  std::snprintf(mode, sizeof mode, "0%o", status.st_mode & 07777);
  return (nearest == path ? "" : nearest + " has ") + "owner " + std::to_string(status.st_uid) + ":" + std::to_string(status.st_gid) +
         ", mode " + mode + "; podjail is " + std::to_string(::geteuid()) + ":" + std::to_string(::getegid());
}

Expected<std::string> absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return fail("current folder", error.value());
  std::string text = absolute.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

}  // namespace podjail
