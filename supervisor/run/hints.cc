#include "run/hints.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <ranges>
#include <vector>

#include "run/find_runner.h"
#include "run/granted.h"
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

// The claim is the script's: no more of it is looked at than CPython writes.
constexpr std::size_t kMaxText = 16U << 10, kMaxNames = 2, kMaxName = 4096;

// What CPython's messages put names into: 'a' -> 'b', "it's". One with an escape is left out, as its bytes aren't known.
std::vector<std::string> names_in(std::string_view message) {
  std::vector<std::string> names;
  for (std::size_t start = message.find_first_of("'\""); start != std::string_view::npos && names.size() < kMaxNames;
       start = message.find_first_of("'\"", start)) {
    const std::size_t end = message.find(message[start], start + 1);
    if (end == std::string_view::npos) break;
    const std::string_view name = message.substr(start + 1, end - start - 1);
    if (!name.empty() && name.size() < kMaxName && !contains(name, "\\")) names.emplace_back(name);
    start = end + 1;
  }
  return names;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
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
const Words kModes = {"chmod", "copystat", "copymode", "copytree", "copy2", "extract"};
const Words kSignals = {"kill", "signal", "terminate"};
const Words kStarts = {"fork", "subprocess", "multiprocessing", "rocess", "popen", "spawn", "system", "exec", "pty"};
constexpr std::string_view kNoUnixSockets =
    "unix sockets can't be made here (they take syscalls.base exec and Landlock ABI 9, Linux 7.1): use a pipe or socket.socketpair()";
constexpr std::string_view kNoSetId = "set-user-ID and set-group-ID bits are refused";
constexpr std::string_view kNoDevices = "only regular files and FIFOs can be made";
constexpr std::string_view kOwnProcesses = "only the run's own processes can be its target";

const Row kRows[] = {
    {"socket", "EPERM", kNoUnixSockets, {"AF_UNIX", "unix", "socket(", "socket.py", "multiprocessing", "Listener", "Manager"}, "AF_UNIX"},
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
    {"chmod", "EPERM", kNoSetId, kModes},
    {"fchmod", "EPERM", kNoSetId, kModes},
    {"fchmodat", "EPERM", kNoSetId, kModes},
    {"mknod", "EPERM", kNoDevices, {"mknod"}},
    {"mknodat", "EPERM", kNoDevices, {"mknod"}},
    {"kill", "EPERM", kOwnProcesses, kSignals},
    {"tgkill", "EPERM", kOwnProcesses, kSignals},
    {"tkill", "EPERM", kOwnProcesses, kSignals},
    {"setpriority", "EPERM", kOwnProcesses, {"priority", "nice"}},
    {"prlimit64", "EPERM", kOwnProcesses, {"limit"}},
    {"memfd_create", "EPERM", "memory files take syscalls.base exec (--policy agent); tempfile.TemporaryFile() needs nothing", {"memfd"}},
};

class Hints {
 public:
  Hints(const Result& result, const RunRequest& request, const Prepared& prepared)
      : result_(result), request_(request), prepared_(prepared) {
    const ExceptionClaim& claim = *result.script.claim->exception;
    type_ = claim.type;
    message_ = std::string_view(claim.message).substr(0, kMaxText);
    traceback_ = claim.traceback;
    if (traceback_.size() > kMaxText) traceback_.remove_prefix(traceback_.size() - kMaxText);
    take_cause();
  }

  [[nodiscard]] std::string find() const {
    if (std::string hint = of_input(); !hint.empty()) return hint;
    if (type_ == "FileExistsError" && names_in(message_) == std::vector<std::string>{"output"})
      return "the output folder is there already: os.makedirs('output', exist_ok=True)";
    if (type_ == "OperationalError" && contains_any(message_, {"unable to open database file", "readonly database"})) return of_database();
    if (type_ == "EOFError" && mentions({"managers.py"}) && refused("socket", "AF_UNIX")) return std::string(kNoUnixSockets);
    if (has_errno(24)) return "limits.open_files is reached";
    if (has_errno(27)) return "limits.file_size is reached";
    if (has_errno(13)) return of_access();
    return of_refused_call();
  }

 private:
  // `raise AppError from e`: what was refused is the cause.
  void take_cause() {
    constexpr std::string_view kDirect = "The above exception was the direct cause of the following exception",
                               kStart = "PermissionError: [Errno ";
    if (contains(message_, "[Errno ") || !contains(traceback_, kDirect)) return;
    const std::size_t start = traceback_.rfind(kStart, traceback_.rfind(kDirect));
    if (start == std::string_view::npos) return;
    type_ = "PermissionError";
    message_ = traceback_.substr(start + 17, traceback_.find('\n', start) - start - 17);
  }

  [[nodiscard]] bool refused(std::string_view call, std::string_view detail) const {
    return std::ranges::any_of(result_.violations,
                               [&](const Violation& each) { return each.what == call && each.detail.starts_with(detail); });
  }

  [[nodiscard]] std::string of_database() const {
    if (request_.input_mode == RunRequest::InputMode::link)
      return "without --input-mode link the current folder has a copy that can be written";
    return "SQLite writes beside its file: it must lie in the current folder, output/ or $TMPDIR";
  }

  [[nodiscard]] bool has_errno(int number) const { return contains(message_, "[Errno " + std::to_string(number) + "]"); }
  [[nodiscard]] bool mentions(std::initializer_list<std::string_view> words) const { return contains_any(traceback_, words); }

  // Without --input only the script itself is readable.
  [[nodiscard]] std::string of_input() const {
    if (request_.kind != RunRequest::Kind::script || prepared_.input) return {};
    const std::string folder = folder_of(request_.argv.front()), pass = "pass its folder with --input " + folder;
    const auto beside = [&](const std::string& name) { return name + " lies beside the script, which alone is readable: " + pass; };
    const std::vector<std::string> names = names_in(message_);
    if (names.empty()) return {};
    const std::string& name = names.front();
    if (type_ == "KeyError" && name == "PODJAIL_INPUT_DIR") return "there is no input folder: " + pass;
    if (type_ == "FileNotFoundError" && lies_beside(folder, name)) return beside(name);
    if (type_ == "PermissionError" && name.front() == '/' && is_beneath(real_path(name), real_path(folder))) return beside(name);
    if (type_ != "ModuleNotFoundError") return {};
    const std::string module = name.substr(0, name.find('.'));
    for (const std::string& file : {module + ".py", module}) {
      if (lies_beside(folder, file)) return beside(file);
    }
    return {};
  }

  // --- EACCES: Landlock, or the file's own mode ---

  [[nodiscard]] std::string of_access() const {
    for (const std::string& name : names_in(message_)) {
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

  [[nodiscard]] std::string of_path(const std::string& name) const {
    const bool program = mentions(kExecutes);
    std::string shown = name.front() == '/' ? name : prepared_.scratch.work() + "/" + name;
    if (program && !contains(name, "/")) shown = find_command(name, environment("PATH"), prepared_.cwd).value_or(shown);
    const std::string path = real_path(shown);
    if (is_beneath(path, "/proc")) {
      return name + ": of /proc only the run's own processes can be read, and not by programs that it executes";
    }
    if (is_beneath(path, "/dev/pts") || path == "/dev/ptmx" || path == "/dev/tty") return terminals();
    if (is_beneath(path, "/dev/shm")) {
      return granted(prepared_.plan.landlock, path) != 0 ? "/dev/shm can't be listed, and holds files alone"
                                                         : "/dev/shm takes limits.threads above 1";
    }
    const std::uint64_t access = granted(prepared_.plan.landlock, path);
    struct stat about {};
    const bool there = ::stat(path.c_str(), &about) == 0;
    if (program) return of_program(shown, path, access, there && (about.st_mode & 0111) == 0);
    if (prepared_.input && is_beneath(path, real_path(prepared_.input->folder))) return of_input_file(shown);
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
    const bool led_out = shown != path && (is_beneath(shown, prepared_.scratch.data()) || is_beneath(shown, prepared_.scratch.task()));
    if (led_out) return name + " is a link to " + path + ", which the policy doesn't list (filesystem.read)";
    return "the policy doesn't list " + name + " (filesystem.read, filesystem.write); " + writable;
  }

  [[nodiscard]] std::string environment(std::string_view name) const {
    for (const std::string& entry : prepared_.env) {
      if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) return entry.substr(name.size() + 1);
    }
    return {};
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
    // The last that was refused is the likeliest to have ended it.
    for (const Violation& violation : std::views::reverse(result_.violations)) {
      if (!gives(violation)) continue;
      for (const Row& row : kRows) {
        if (row.call != violation.what || row.action != violation.action || !violation.detail.starts_with(row.detail)) continue;
        if (mentions(row.words)) return std::string(row.hint);
      }
      if (type_ == "PermissionError" && (contains(traceback_, violation.what) || contains(message_, violation.what))) {
        return "the jail refuses " + violation.what + (violation.detail.empty() ? "" : " (" + violation.detail + ")") +
               ": see syscalls.allow";
      }
    }
    return {};
  }

  // Whether the exception is one that this refusal gives: anything else that was refused before has nothing to do with it.
  [[nodiscard]] bool gives(const Violation& violation) const {
    if (violation.action == "EAGAIN")
      return has_errno(11) || contains_any(message_, {"can't start new thread", "Resource temporarily unavailable"});
    if (violation.action != "EPERM") return false;
    if (has_errno(1) || contains(message_, "Operation not permitted")) return true;
    const bool resolver = has_errno(-2) || has_errno(-3) || contains(message_, "name resolution");
    return resolver && violation.what == "socket" && violation.detail.starts_with("AF_INET");
  }

  const Result& result_;
  const RunRequest& request_;
  const Prepared& prepared_;
  std::string_view type_, message_, traceback_;  // the claim's, or its cause's
};

}  // namespace

std::string hint_for(const Result& result, const RunRequest& request, const Prepared& prepared) {
  if (request.workdir && (granted(prepared.plan.landlock, real_path(*request.workdir)) & landlock::kReadDir) == 0) {
    return "the command can't read --workdir " + *request.workdir + ", which the policy doesn't list (filesystem.read)";
  }
  if (!result.script.claim || !result.script.claim->exception) return {};
  return Hints(result, request, prepared).find();
}

}  // namespace podjail
