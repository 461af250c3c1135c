#include "run/hints.h"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace podjail {
namespace {

// The text between the first two single quotes: what CPython's messages put a name into.
std::string quoted(const std::string& message) {
  const std::size_t open = message.find('\'');
  const std::size_t close = open == std::string::npos ? open : message.find('\'', open + 1);
  return close == std::string::npos ? std::string() : message.substr(open + 1, close - open - 1);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool lies_beside(const std::string& folder, const std::string& name) {
  return !name.empty() && name.front() != '/' && ::access((folder + "/" + name).c_str(), F_OK) == 0;
}

// Without --input only the script itself is readable.
std::string input_hint(const wire::ExceptionClaim& exception, const RunRequest& request) {
  if (request.kind != RunRequest::Kind::script || request.input) return {};
  const std::string folder = folder_of(request.argv.front()), name = quoted(exception.message);
  const std::string pass = "pass its folder with --input " + folder;
  if (exception.type == "KeyError" && name == "PODJAIL_INPUT_DIR") return "there is no input folder: " + pass;
  if (exception.type == "FileNotFoundError" && lies_beside(folder, name)) {
    return name + " lies beside the script, which alone is readable: " + pass;
  }
  if (exception.type != "ModuleNotFoundError") return {};
  const std::string module = name.substr(0, name.find('.'));
  for (const std::string& file : {module + ".py", module}) {
    if (lies_beside(folder, file)) return file + " lies beside the script, which alone is readable: " + pass;
  }
  return {};
}

struct Row {
  std::string_view call, action, hint;
};
constexpr std::array kRows = {
    Row{"socket", "EPERM", "there is no network in the jail but the ports of network.connect_tcp"},
    Row{"clone", "EAGAIN", "limits.threads is reached"},
    Row{"clone", "EPERM", "other processes take limits.processes above 1, and other programs filesystem.execute"},
    Row{"fork", "EPERM", "other processes take limits.processes above 1"},
    Row{"vfork", "EPERM", "other processes take limits.processes above 1, and other programs filesystem.execute"},
    Row{"execve", "EPERM", "other programs take limits.processes above 1 and filesystem.execute"},
};

}  // namespace

std::string hint_for(const Result& result, const RunRequest& request) {
  if (!result.script.claim || !result.script.claim->exception) return {};
  const wire::ExceptionClaim& exception = *result.script.claim->exception;
  if (std::string hint = input_hint(exception, request); !hint.empty()) return hint;
  if (exception.message.find("[Errno 24]") != std::string::npos) return "limits.open_files is reached";
  if (exception.message.find("[Errno 27]") != std::string::npos) return "limits.file_size is reached";
  if (exception.type == "PermissionError" && exception.message.find("[Errno 13]") != std::string::npos &&
      !quoted(exception.message).empty()) {
    return "the policy doesn't list this path (filesystem.read, filesystem.write); the work folder, output/ and $TMPDIR are writable";
  }
  // The last that was refused is the likeliest to have ended it.
  for (auto violation = result.violations.rbegin(); violation != result.violations.rend(); ++violation) {
    const auto row = std::ranges::find_if(kRows, [&](const Row& r) { return r.call == violation->what && r.action == violation->action; });
    if (row != kRows.end()) return std::string(row->hint);
  }
  return {};
}

}  // namespace podjail
