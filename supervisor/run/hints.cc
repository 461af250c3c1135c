#include "run/hints.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <ranges>
#include <vector>

#include "sys/landlock_abi.h"

namespace podjail {
namespace {

using wire::ExceptionClaim;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](std::string_view part) { return contains(text, part); });
}

// What CPython's messages put names into: 'a' -> 'b', "it's". One with an escape is left out, as its bytes aren't known.
std::vector<std::string> names_in(std::string_view message) {
  std::vector<std::string> names;
  for (std::size_t start = message.find_first_of("'\""); start != std::string_view::npos; start = message.find_first_of("'\"", start)) {
    const std::size_t end = message.find(message[start], start + 1);
    if (end == std::string_view::npos) break;
    const std::string_view name = message.substr(start + 1, end - start - 1);
    if (!name.empty() && !contains(name, "\\")) names.emplace_back(name);
    start = end + 1;
  }
  return names;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string real(const std::string& path) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::weakly_canonical(path, error);
  return error ? path : found.string();
}

bool is_beneath(std::string_view path, std::string_view folder) {
  if (folder.empty()) return false;
  if (folder == "/" || path == folder) return true;
  return path.starts_with(folder) && path[folder.size()] == '/';
}

bool lies_beside(const std::string& folder, const std::string& name) {
  return !name.empty() && name.front() != '/' && ::access((folder + "/" + name).c_str(), F_OK) == 0;
}

using Words = std::initializer_list<std::string_view>;

struct Row {
  std::string_view call, action, hint;
  Words words;              ///< one of them is in the traceback; none: any
  std::string_view detail;  ///< how the violation's detail starts
};

const Words kExecutes = {"_execute_child", "_fork_exec", "posix_spawn", "os.exec"};
const Words kStarts = {"fork", "subprocess", "multiprocessing", "rocess", "popen", "spawn", "system", "exec", "pty"};
constexpr std::string_view kNoSetId = "set-user-ID and set-group-ID bits are refused";
constexpr std::string_view kNoDevices = "only regular files and FIFOs can be made";
constexpr std::string_view kOwnProcesses = "only the run's own processes can be its target";

const Row kRows[] = {
    {"socket",
     "EPERM",
     "unix sockets can't be made here (they take syscalls.base exec and Landlock ABI 9, Linux 7.1): use a pipe or socket.socketpair()",
     {"AF_UNIX", "unix", "socket(", "socket.py", "multiprocessing", "Listener", "Manager"},
     "AF_UNIX"},
    {"socket",
     "EPERM",
     "there is no network in the jail but the ports of network.connect_tcp",
     {"socket", "connect", "url", "http", "ssl", "getaddrinfo"},
     "AF_"},
    {"socketpair", "EPERM", "pairs of unix sockets are SOCK_STREAM or SOCK_SEQPACKET here", {"socketpair"}},
    {"clone", "EAGAIN", "limits.threads is reached", {"thread", "Thread", "pool", "executor"}},
    {"clone", "EPERM", "other processes take limits.processes above 1, and other programs filesystem.execute", kStarts},
    {"fork", "EPERM", "other processes take limits.processes above 1", kStarts},
    {"vfork", "EPERM", "other processes take limits.processes above 1, and other programs filesystem.execute", kStarts},
    {"execve", "EPERM", "other programs take limits.processes above 1 and filesystem.execute", kStarts},
    {"chmod", "EPERM", kNoSetId, {}},
    {"fchmod", "EPERM", kNoSetId, {}},
    {"fchmodat", "EPERM", kNoSetId, {}},
    {"mknod", "EPERM", kNoDevices, {}},
    {"mknodat", "EPERM", kNoDevices, {}},
    {"kill", "EPERM", kOwnProcesses, {}},
    {"tgkill", "EPERM", kOwnProcesses, {}},
    {"tkill", "EPERM", kOwnProcesses, {}},
    {"setpriority", "EPERM", kOwnProcesses, {}},
    {"prlimit64", "EPERM", kOwnProcesses, {}},
    {"memfd_create", "EPERM", "memory files take syscalls.base exec (--policy agent); tempfile.TemporaryFile() needs nothing", {}},
};

class Hints {
 public:
  Hints(const Result& result, const RunRequest& request, const Prepared& prepared)
      : result_(result), request_(request), prepared_(prepared), exception_(*result.script.claim->exception) {}

  [[nodiscard]] std::string find() const {
    if (std::string hint = of_input(); !hint.empty()) return hint;
    if (has_errno(24)) return "limits.open_files is reached";
    if (has_errno(27)) return "limits.file_size is reached";
    if (has_errno(13)) return of_access();
    return of_refused_call();
  }

 private:
  [[nodiscard]] bool has_errno(int number) const { return contains(exception_.message, "[Errno " + std::to_string(number) + "]"); }
  [[nodiscard]] bool mentions(std::initializer_list<std::string_view> words) const { return contains_any(exception_.traceback, words); }

  // Without --input only the script itself is readable.
  [[nodiscard]] std::string of_input() const {
    if (request_.kind != RunRequest::Kind::script || request_.input) return {};
    const std::string folder = folder_of(request_.argv.front()), pass = "pass its folder with --input " + folder;
    const auto beside = [&](const std::string& name) { return name + " lies beside the script, which alone is readable: " + pass; };
    const std::vector<std::string> names = names_in(exception_.message);
    if (names.empty()) return {};
    const std::string& name = names.front();
    if (exception_.type == "KeyError" && name == "PODJAIL_INPUT_DIR") return "there is no input folder: " + pass;
    if (exception_.type == "FileNotFoundError" && lies_beside(folder, name)) return beside(name);
    if (exception_.type == "PermissionError" && name.front() == '/' && !prepared_.input && is_beneath(real(name), real(folder)))
      return beside(name);
    if (exception_.type != "ModuleNotFoundError") return {};
    const std::string module = name.substr(0, name.find('.'));
    for (const std::string& file : {module + ".py", module}) {
      if (lies_beside(folder, file)) return beside(file);
    }
    return {};
  }

  // --- EACCES: Landlock, or the file's own mode ---

  [[nodiscard]] std::string of_access() const {
    for (const std::string& name : names_in(exception_.message)) {
      if (std::string hint = of_path(name); !hint.empty()) return hint;
    }
    if (mentions(kExecutes)) return "the policy doesn't list that program in filesystem.execute";
    if (mentions({"connect", "urlopen", "http", "socket"})) return "that port isn't listed in network.connect_tcp";
    if (mentions({"bind(", "listen", "server"})) return "that port isn't listed in network.bind_tcp";
    if (mentions({"pty", "tty"})) return terminals();
    if (mentions({"synchronize.py", "SemLock"})) return "locks of multiprocessing take limits.threads above 1";
    return {};
  }

  [[nodiscard]] static std::string terminals() { return "pseudo terminals take syscalls.base exec (--policy agent)"; }

  // What Landlock grants at this path: of all rules for the folders above it.
  [[nodiscard]] std::uint64_t granted(const std::string& path) const {
    std::uint64_t access = 0;
    for (const LandlockPath& rule : prepared_.plan.landlock.paths) {
      if (is_beneath(path, real(rule.path))) access |= rule.access;
    }
    return access;
  }

  [[nodiscard]] std::string of_path(const std::string& name) const {
    const std::string shown = name.front() == '/' ? name : prepared_.scratch.work() + "/" + name;
    const std::string path = real(shown);
    if (is_beneath(path, "/proc")) {
      return name + ": of /proc only the run's own processes can be read, and not by programs that it executes";
    }
    if (is_beneath(path, "/dev/pts") || path == "/dev/ptmx" || path == "/dev/tty") return terminals();
    if (is_beneath(path, "/dev/shm")) {
      return granted(path) != 0 ? "/dev/shm can't be listed, and holds files alone" : "/dev/shm takes limits.threads above 1";
    }
    const std::uint64_t access = granted(path);
    struct stat about {};
    const bool there = ::stat(path.c_str(), &about) == 0;
    if (mentions(kExecutes)) return of_program(name, path, access, there && (about.st_mode & 0111) == 0);
    if (prepared_.input && is_beneath(path, real(prepared_.input->folder))) return of_input_file(shown);
    if (is_beneath(path, prepared_.scratch.task())) {
      return "the folder of __file__ is read-only: write to the current folder, output/ or $TMPDIR";
    }
    // As podjail sees it, which no Landlock restricts: where mode and owner keep this user from it, no policy helps. Of what the policy
    // lets read it was a write.
    const std::string reached = there ? path : folder_of(path);
    const bool only_read = (access & landlock::kReadFile) != 0;
    if (::access(reached.c_str(), W_OK) != 0 && (only_read || ::access(reached.c_str(), R_OK) != 0)) {
      return name + ": its own permissions keep uid " + std::to_string(::geteuid()) + " from it";
    }
    if ((access & landlock::kWriteFile) != 0) return {};
    const std::string writable = "the current folder, output/ and $TMPDIR are writable";
    if (only_read) return name + " can only be read: writing takes filesystem.write; " + writable;
    return "the policy doesn't list " + name + " (filesystem.read, filesystem.write); " + writable;
  }

  [[nodiscard]] std::string of_program(const std::string& name, const std::string& path, std::uint64_t access, bool no_mode) const {
    if (no_mode) return name + " isn't executable (chmod +x)";
    if ((access & landlock::kExecute) != 0) return {};
    if (is_beneath(path, prepared_.scratch.data())) {
      return "programs made in the work folder take syscalls.base exec (--policy agent)";
    }
    return "the policy doesn't list " + name + " in filesystem.execute";
  }

  [[nodiscard]] std::string of_input_file(const std::string& shown) const {
    if (request_.input_mode == RunRequest::InputMode::link && is_beneath(shown, prepared_.scratch.data())) {
      return "the input's files are links to the read-only input folder: without --input-mode link they are copies that can be changed";
    }
    return "the input folder is read-only: the current folder has what is in it, and can be changed";
  }

  // --- EPERM, EAGAIN: a refused call ---

  [[nodiscard]] std::string of_refused_call() const {
    if (!of_a_refusal()) return {};
    // The last that was refused is the likeliest to have ended it.
    for (const Violation& violation : std::views::reverse(result_.violations)) {
      for (const Row& row : kRows) {
        if (row.call != violation.what || row.action != violation.action || !violation.detail.starts_with(row.detail)) continue;
        if (row.words.size() == 0 || mentions(row.words)) return std::string(row.hint);
      }
    }
    if (exception_.type != "PermissionError") return {};
    // libc asks a name service by a unix socket whenever it looks up a user: hardly ever what ended a script.
    const auto other = std::ranges::find_if(result_.violations.rbegin(), result_.violations.rend(), [](const Violation& each) {
      return each.action == "EPERM" && each.layer == "seccomp" && each.what != "socket";
    });
    if (other == result_.violations.rend()) return {};
    return "the jail refuses " + other->what + (other->detail.empty() ? "" : " (" + other->detail + ")") + ": see syscalls.allow";
  }

  // The exception is of the kind that a refused call gives: anything else that was refused before has nothing to do with it.
  [[nodiscard]] bool of_a_refusal() const {
    if (has_errno(1) || has_errno(11) || has_errno(-3) || has_errno(-2)) return true;
    return contains_any(exception_.message,
                        {"Operation not permitted", "can't start new thread", "Resource temporarily unavailable", "name resolution"});
  }

  const Result& result_;
  const RunRequest& request_;
  const Prepared& prepared_;
  const ExceptionClaim& exception_;
};

}  // namespace

std::string hint_for(const Result& result, const RunRequest& request, const Prepared& prepared) {
  if (!result.script.claim || !result.script.claim->exception) return {};
  return Hints(result, request, prepared).find();
}

}  // namespace podjail
