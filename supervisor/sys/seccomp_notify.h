#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/types.h>

#include <cstdint>

#include "base/error.h"

namespace podjail {

/// One call that waits for the supervisor's word (seccomp_unotify(2)). What its pointers point to can change at any time and is never read.
struct Notification {
  std::uint64_t id = 0;
  pid_t tid = 0;  ///< the calling thread, in this process's pid namespace
  seccomp_data data{};
};

enum class NotifyState {
  none,   ///< nothing waits (or the caller died meanwhile)
  one,    ///< the notification is filled in
  ended,  ///< no process is left under the filter
};

/// Never blocks: asks poll(2) first.
Expected<NotifyState> notify_receive(int listener, Notification& notification);

/// Lets the call fail with `err`. ENOENT, where the caller died or was interrupted meanwhile, is no error.
Expected<void> notify_deny(int listener, std::uint64_t id, int err);

/// Lets the kernel carry the call out (SECCOMP_USER_NOTIF_FLAG_CONTINUE). Only for calls whose checked arguments are in registers.
Expected<void> notify_continue(int listener, std::uint64_t id);

/// Puts a copy of `fd` into the caller and lets the call return its number (SECCOMP_IOCTL_NOTIF_ADDFD, Linux 5.9). The caller has to get
/// the CPU for it, which it can put off (SCHED_IDLE beside busy processes): tried for 100 ms. Errors: EINVAL before 5.9, EMFILE at the
/// caller's RLIMIT_NOFILE, EINTR after that time: the call still waits for an answer. ENOENT, where the caller died meanwhile, is none.
Expected<void> notify_give(int listener, std::uint64_t id, int fd, bool cloexec);

/// Lets the call return 0 without being carried out.
Expected<void> notify_succeed(int listener, std::uint64_t id);

/// Wakes the supervisor on the caller's own CPU, as the caller is about to sleep (Linux 6.6; nothing before): a notification is answered
/// sooner, and a signal that comes before it is received, which would end a fork(2) with EINTR, has hardly any time to.
void notify_wake_synchronously(int listener) noexcept;

/// Whether the caller still waits; to be asked after anything was looked up by its TID.
bool notify_id_valid(int listener, std::uint64_t id);

/// seccomp(SECCOMP_GET_ACTION_AVAIL): 0 or an errno. A harmless call.
int seccomp_action_available(std::uint32_t action) noexcept;

/// seccomp(SECCOMP_SET_MODE_FILTER): 0 or the listener's descriptor, -1 and errno. Async-signal-safe.
int seccomp_set_filter(unsigned flags, const sock_filter* program, std::size_t length) noexcept;

}  // namespace podjail
