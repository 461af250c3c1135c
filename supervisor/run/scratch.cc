#include "run/scratch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "sys/files.h"

namespace podjail {
namespace {

constexpr const char* kPodScratch = "/podjail/scratch";

std::string scratch_parent() {
  for (const char* variable : {"PODJAIL_SCRATCH", "", "TMPDIR"}) {
    if (*variable == '\0') {
      if (::access(kPodScratch, W_OK | X_OK) == 0) return kPodScratch;
    } else if (const char* const value = std::getenv(variable); value != nullptr && *value == '/') {
      return value;
    }
  }
  return "/tmp";
}

std::string random_name() {
  std::array<unsigned char, 8> bytes{};
  ::arc4random_buf(bytes.data(), bytes.size());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name = "podjail-";
  for (const unsigned char byte : bytes) {
    name += kDigits[byte >> 4];
    name += kDigits[byte & 15];
  }
  return name;
}

}  // namespace

Expected<Scratch> Scratch::make() {
  std::error_code error;
  // Real, so that the script's own os.path.realpath() changes nothing, and /proc/self/cwd agrees.
  const std::string parent = std::filesystem::canonical(scratch_parent(), error).string();
  if (error) return fail("scratch folder", error.value(), scratch_parent());
  Fd folder = TRY(open_at(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY));
  const std::string name = random_name();
  TRY_VOID(make_folder(folder.get(), name, 0700));
  Scratch scratch(std::move(folder), (parent == "/" ? "" : parent) + "/" + name, name);
  Fd root = TRY(open_at(scratch.parent_.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  // A volume under fsGroup has set-group-ID on its folders, and each new folder inherits it. What copies a folder's mode (shutil.copytree,
  // cp -a) would then be refused (restricted_calls.cc).
  if (::fchmod(root.get(), 0700) != 0) return fail("set mode", errno, scratch.root_);
  for (const char* below : {"data", "data/work", "data/work/output", "data/tmp", "data/home", "task"})
    TRY_VOID(make_folder(root.get(), below, 0700));
  scratch.data_ = TRY(open_at(root.get(), "data", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return scratch;
}

Scratch::~Scratch() {
  if (parent_.valid()) (void)remove();  // reported where the run calls it; this is for the paths on which it didn't come so far
}

Expected<std::string> Scratch::place_script(const std::string& name, std::string_view bytes) {
  const std::string path = task() + "/" + name;
  Fd file = TRY(open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0444));
  TRY_VOID(write_all(file.get(), bytes));
  return path;
}

void Scratch::remove_task() {
  const auto root = open_at(parent_.get(), name_, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (root) (void)remove_tree(root->get(), "task");
}

Expected<void> Scratch::remove() {
  if (!parent_.valid()) return {};
  data_.reset();
  auto removed = remove_tree(parent_.get(), name_);
  parent_.reset();
  return removed;
}

}  // namespace podjail
