#include "run/shared_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "sys/dir.h"

namespace podjail {
namespace {

constexpr const char* kFolder = "/dev/shm";  // glibc's, since 2.34 a constant (sysdeps/posix/shm-directory.h)
constexpr std::uint64_t kInode = 1024;       // struct shmem_inode_info with its dentry, about: 100 000 empty files are 100 MB

Dir list(int folder) {
  return read_entries(Fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
}

bool same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

SharedMemory::SharedMemory(bool reachable) {
  if (!reachable) return;
  folder_ = Fd(::open(kFolder, O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat about {};
  if (!folder_.valid() || ::fstat(folder_.get(), &about) != 0) return;
  device_ = about.st_dev;
  seen_ = about.st_mtim;  // before the list: what comes in between is seen as a change
  const Dir dir = list(folder_.get());
  while (const dirent* const entry = dir ? ::readdir(dir.get()) : nullptr) before_.insert(entry->d_ino);
}

// `use(name, status)` for each file that was not there before and belongs to this user.
template <class Use>
void SharedMemory::for_each_new(Use use) const {
  if (!folder_.valid()) return;
  const Dir dir = list(folder_.get());
  while (const dirent* const entry = dir ? ::readdir(dir.get()) : nullptr) {
    struct stat about {};
    if (before_.contains(entry->d_ino) || ::fstatat(folder_.get(), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(about.st_mode) && about.st_uid == ::geteuid()) use(entry->d_name, about);
  }
}

void SharedMemory::note(const OpenFile& file) {
  if (S_ISREG(file.mode) && file.device == device_ && file.owner == ::geteuid() && !before_.contains(file.inode)) {
    own_.insert(file.inode);
  }
}

void SharedMemory::claim(pid_t process, int fd) {
  if (!folder_.valid()) return;
  if (const auto file = open_file_of(process, fd)) note(*file);
}

bool SharedMemory::changed() const {
  struct stat about {};
  return folder_.valid() && ::fstat(folder_.get(), &about) == 0 && !same(about.st_mtim, seen_);
}

void SharedMemory::look(std::span<const pid_t> members) {
  struct stat about {};
  if (!folder_.valid() || ::fstat(folder_.get(), &about) != 0) return;
  seen_ = about.st_mtim;
  std::set<ino_t> made;
  for_each_new([&](const char*, const struct stat& status) { made.insert(status.st_ino); });
  std::erase_if(made, [this](ino_t inode) { return own_.contains(inode); });
  if (made.empty()) return;
  for (const pid_t pid : members) {
    for (const MappedFile& file : mapped_files(pid)) {
      if (file.device == device_ && made.contains(file.inode)) own_.insert(file.inode);
    }
    const Fd process(::open(("/proc/" + std::to_string(pid) + "/fd").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const Dir dir = process.valid() ? list(process.get()) : nullptr;
    while (const dirent* const entry = dir ? ::readdir(dir.get()) : nullptr) {
      if (is_dot(entry->d_name)) continue;
      const auto file = open_file_of(pid, std::atoi(entry->d_name));
      if (file && made.contains(file->inode)) note(*file);
    }
  }
}

std::uint64_t SharedMemory::bytes() const {
  std::uint64_t total = 0;
  if (own_.empty()) return total;
  for_each_new([&](const char*, const struct stat& about) {
    if (own_.contains(about.st_ino)) total += static_cast<std::uint64_t>(about.st_blocks) * 512 + kInode;
  });
  return total;
}

std::uint64_t SharedMemory::remove() {
  if (own_.empty()) return 0;
  std::vector<std::string> names;
  for_each_new([&](const char* name, const struct stat& about) {
    if (own_.contains(about.st_ino)) names.emplace_back(name);
  });
  std::uint64_t removed = 0;
  for (const std::string& name : names) {
    if (::unlinkat(folder_.get(), name.c_str(), 0) == 0) ++removed;
  }
  return removed;
}

}  // namespace podjail
