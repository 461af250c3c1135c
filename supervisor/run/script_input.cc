#include "run/script_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/units.h"
#include "sys/files.h"

namespace podjail {
namespace {

constexpr std::uint64_t kMaxPayload = 16U << 20;

std::unexpected<InputProblem> problem(std::string reason, std::string message) {
  return std::unexpected(InputProblem{std::move(reason), std::move(message)});
}

std::string reason_of(int err) {
  switch (err) {
    case ENOENT:
    case ENOTDIR:
      return "missing";
    case ELOOP:
      return "symlink_loop";
    case EACCES:
    case EPERM:
      return "permission_denied";
    case EFBIG:
      return "too_large";
    default:
      return "not_a_file";
  }
}

// O_NONBLOCK: opening a FIFO that nobody writes must not wait. Devices and sockets are told by fstat, not by reading them. A link may lead
// elsewhere in the file's own folder (as in a ConfigMap volume: ..data/NAME), but not out of it: whoever wrote the folder would else be
// shown, in an error, a line of a file that only podjail can read.
std::expected<std::string, InputProblem> read_regular(const std::string& path, const std::string& what, std::uint64_t max_bytes) {
  const std::size_t slash = path.rfind('/');
  const std::string folder_path = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const auto folder = open_at(AT_FDCWD, folder_path, O_PATH | O_DIRECTORY);
  const auto file = folder ? open_within(folder->get(), path.substr(slash + 1), O_RDONLY | O_NONBLOCK | O_NOCTTY)
                           : Expected<Fd>(std::unexpected(folder.error()));
  if (!file) {
    const int err = file.error().err;
    if (err == EXDEV) return problem("symlink_outside", what + " " + path + " is a link out of its folder: give the file itself");
    return problem(reason_of(err), what + " " + path + ": " + std::strerror(err));
  }
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return problem("not_a_file", what + " " + path + ": " + std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return problem("is_directory", what + " " + path + " is a folder");
  if (!S_ISREG(status.st_mode)) return problem("not_a_file", what + " " + path + " is not a regular file");
  auto bytes = read_all(file->get(), max_bytes);
  // Half of an upload must not run: whoever writes it is not done yet.
  struct stat after {};
  const bool changed = bytes && (::fstat(file->get(), &after) != 0 || static_cast<std::uint64_t>(after.st_size) != bytes->size() ||
                                 after.st_size != status.st_size || after.st_mtim.tv_sec != status.st_mtim.tv_sec ||
                                 after.st_mtim.tv_nsec != status.st_mtim.tv_nsec);
  if (changed) return problem("changed", what + " " + path + " changed while it was read: run it when it is written");
  if (bytes) return *std::move(bytes);
  if (bytes.error().err == EFBIG) return problem("too_large", what + " " + path + " has more than " + format_bytes(max_bytes));
  return problem("not_a_file", what + " " + path + ": " + std::strerror(bytes.error().err));
}

std::expected<std::string, InputProblem> read_stdin(const std::string& what, std::uint64_t max_bytes) {
  auto bytes = read_all(STDIN_FILENO, max_bytes);
  if (bytes) return *std::move(bytes);
  if (bytes.error().err == EFBIG) return problem("too_large", what + " on stdin has more than " + format_bytes(max_bytes));
  return problem("not_a_file", what + " on stdin: " + std::strerror(bytes.error().err));
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

std::expected<ScriptInput, InputProblem> read_script(const RunRequest& request, std::uint64_t max_bytes) {
  ScriptInput script;
  script.shown = request.argv.front();
  if (request.input) {
    auto folder = absolute_path(*request.input);
    if (!folder || !is_folder(*folder)) return problem("input", "--input " + *request.input + " is not a folder that can be read");
    script.input_dir = *std::move(folder);
  }
  if (script.shown == "-") {
    script.name = "stdin.py";
    auto bytes = read_stdin("the script", max_bytes);
    if (!bytes) return std::unexpected(bytes.error());
    script.bytes = *std::move(bytes);
    return script;
  }
  std::string path = script.shown;
  if (is_folder(path)) {
    const std::string main = path + "/__main__.py";
    if (::access(main.c_str(), F_OK) != 0) return problem("is_directory", "script " + path + " is a folder without a __main__.py");
    if (!script.input_dir) {
      auto folder = absolute_path(path);
      if (!folder) return problem("input", folder.error().message());
      script.input_dir = *std::move(folder);
    }
    path = main;
  }
  auto bytes = read_regular(path, "script", max_bytes);
  if (!bytes) return std::unexpected(bytes.error());
  script.bytes = *std::move(bytes);
  script.name = path.substr(path.rfind('/') + 1);
  return script;
}

std::expected<std::string, InputProblem> read_payload(const std::string& file) {
  auto bytes = file == "-" ? read_stdin("the payload", kMaxPayload) : read_regular(file, "payload", kMaxPayload);
  if (!bytes && bytes.error().reason != "too_large") bytes.error().reason = "payload";
  return bytes;
}

}  // namespace podjail
