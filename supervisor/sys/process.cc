#include "sys/process.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace podjail {

Expected<Fd> open_pidfd(pid_t pid) {
  const long fd = ::syscall(SYS_pidfd_open, pid, 0);
  if (fd < 0) return fail("pidfd_open", errno, std::to_string(pid));
  return Fd(static_cast<int>(fd));
}

Expected<void> signal_pidfd(int pidfd, int signal) {
  if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) != 0) return fail("pidfd_send_signal", errno);
  return {};
}

std::optional<Reaped> reap_one(bool& none_left) {
  Reaped reaped;
  pid_t pid = 0;
  do {
    pid = ::wait4(-1, &reaped.status, WNOHANG | __WALL, &reaped.usage);
  } while (pid < 0 && errno == EINTR);
  none_left = pid < 0 && errno == ECHILD;
  if (pid <= 0) return std::nullopt;
  reaped.pid = pid;
  return reaped;
}

Expected<void> set_soft_limit(pid_t pid, int resource, rlim_t soft) {
  rlimit limit{};
  const auto which = static_cast<__rlimit_resource>(resource);
  if (::prlimit(pid, which, nullptr, &limit) != 0) return fail("prlimit", errno);
  limit.rlim_cur = std::min(soft, limit.rlim_max);
  if (::prlimit(pid, which, &limit, nullptr) != 0) return fail("prlimit", errno);
  return {};
}

}  // namespace podjail
