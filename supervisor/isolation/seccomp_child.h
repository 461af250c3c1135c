#pragma once
#include <linux/filter.h>

#include <cstddef>

namespace podjail {

/// What installing did. Runs in the process to be confined: no heap, no locks, async-signal-safe.
struct SeccompInstalled {
  int err = 0;            ///< 0, or the errno of the call that failed (nothing was half done silently: the caller must end)
  const char* step = "";  ///< which call
  int listener = -1;      ///< the notification fd (the caller's to send and close), -1 where none was asked for or had
  int listener_err = 0;   ///< why there is no listener (EBUSY: one is in the tree already); the filter is on then with plain errnos
};

/// Replaces kOwnPid by getpid() in both programs (in place) and loads guard, then allow-list, by seccomp(2) with TSYNC | TSYNC_ESRCH, and
/// with NEW_LISTENER | WAIT_KILLABLE_RECV where `listener`. no_new_privs must be set. `fallback` is the allow-list compiled without a
/// listener, loaded where one can't be had (nullptr: that is an error).
SeccompInstalled install_seccomp(sock_filter* guard, std::size_t guard_length, sock_filter* allow_list, std::size_t allow_length,
                                 sock_filter* fallback, std::size_t fallback_length, bool listener) noexcept;

}  // namespace podjail
