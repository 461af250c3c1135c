#pragma once
#include <sys/resource.h>
#include <sys/types.h>

#include <optional>

#include "base/error.h"
#include "sys/fd.h"

namespace podjail {

/// pidfd_open(2), CLOEXEC. ESRCH where the process is gone.
Expected<Fd> open_pidfd(pid_t pid);

/// pidfd_send_signal(2): no race with a reused PID. ESRCH once it is dead.
Expected<void> signal_pidfd(int pidfd, int signal);

/// One process that ended and was reaped.
struct Reaped {
  pid_t pid = 0;
  int status = 0;  ///< as wait(2): WIFEXITED …
  rusage usage{};  ///< its own and its waited-for children's
};

/// What can be reaped now, of all children, or nullopt. `none_left` becomes true where there is no child at all any more (ECHILD): as a
/// subreaper that proves that the whole tree is dead.
std::optional<Reaped> reap_one(bool& none_left);

/// prlimit(2) on another process, soft limit only; the hard one stays. Never above it.
Expected<void> set_soft_limit(pid_t pid, int resource, rlim_t soft);

}  // namespace podjail
