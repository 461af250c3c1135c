#include "cli/stage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "cli/terminal.h"
#include "result/exit_code.h"
#include "sys/files.h"

namespace podjail {
namespace {

// One step at a time, no link followed.
Expected<Fd> enter_or_make(int parent, const std::string& name, const std::string& path) {
  if (::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST) return fail("make folder", errno, path);
  auto folder = open_at(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (folder) return folder;
  struct stat about {};
  const bool link = ::fstatat(parent, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(about.st_mode);
  return fail(link ? "a link, which podjail stage doesn't follow:" : "open folder", link ? 0 : folder.error().err, path);
}

Expected<void> stage_folder(const std::string& given) {
  const std::filesystem::path path = TRY(absolute_path(given));
  Fd folder = TRY(open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY));
  std::filesystem::path reached = "/";
  for (const std::filesystem::path& name : path.relative_path()) {
    reached /= name;
    folder = TRY(enter_or_make(folder.get(), name, reached));
  }
  if (::faccessat(folder.get(), ".", R_OK | W_OK | X_OK, AT_EACCESS) == 0) return {};
  return fail("write folder", errno,
              path.string() + " (" + describe_owner(path) + "; where the kubelet made it for a subPath, mount the volume's root instead)");
}

}  // namespace

int stage(const std::vector<std::string>& folders) {
  int code = exit_code::kSucceeded;
  for (const std::string& folder : folders) {
    if (const auto staged = stage_folder(folder); !staged) {
      complain("stage: " + staged.error().message());
      code = exit_code::kResultNotWritten;
    }
  }
  return code;
}

}  // namespace podjail
