#include "python/interpose/request.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "wire/runner_request.h"

namespace podjail::python {
namespace {

long ask(long option, long what, long pid = 0, long tid = 0, long cloexec = 0) noexcept {
  const int before = errno;
  const long answer = ::syscall(SYS_prctl, option, what, pid, tid, cloexec);
  if (answer < 0) errno = before;
  return answer;
}

bool take(std::string_view& path, std::string_view prefix) noexcept {
  if (!path.starts_with(prefix)) return false;
  path.remove_prefix(prefix.size());
  return true;
}

// "123/" or "123" at the end.
bool take_number(std::string_view& path, long& number) noexcept {
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), number);
  if (error != std::errc{} || number <= 0) return false;
  path.remove_prefix(static_cast<std::size_t>(end - path.data()));
  return path.empty() || take(path, "/");
}

}  // namespace

int open_proc_file(const char* path, bool cloexec) noexcept {
  std::string_view rest = path;
  long pid = 0, tid = 0;
  if (!take(rest, "/proc/")) return -1;
  if (rest == "self" || take(rest, "self/")) {
    if (rest == "self") rest = {};
  } else if (rest == "thread-self" || take(rest, "thread-self/")) {
    if (rest == "thread-self") rest = {};
    tid = ::syscall(SYS_gettid);
  } else if (!take_number(rest, pid) && rest != "mounts" && !rest.starts_with("net/")) {  // links to self/
    return -1;
  }
  if (rest.starts_with("task/") && rest.size() > 5) {
    rest.remove_prefix(5);
    if (!take_number(rest, tid)) return -1;
  }
  while (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty()) rest = ".";
  const auto file = std::ranges::find(wire::kProcFiles, rest);
  if (file == wire::kProcFiles.end()) return -1;
  return static_cast<int>(ask(wire::kOpenProcFile, file - wire::kProcFiles.begin(), pid, tid, cloexec ? 1 : 0));
}

void claim_shared_memory(int fd) noexcept {
  (void)ask(wire::kClaimSharedMemory, fd);
}

}  // namespace podjail::python
