#include "sys/seccomp_notify.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sys/interrupt.h"

namespace podjail {
namespace {

// The kernel writes and reads structures of its own size, which may be larger than those of the header we were built with (80 and 24
// bytes).
constexpr std::size_t kBuffer = 512;
struct alignas(seccomp_notif) Buffer {
  char bytes[kBuffer];
};

bool sizes_fit() {
  static const bool fit = [] {
    seccomp_notif_sizes sizes{};
    if (::syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0) return false;
    return sizes.seccomp_notif <= kBuffer && sizes.seccomp_notif_resp <= kBuffer;
  }();
  return fit;
}

Expected<void> respond(int listener, const seccomp_notif_resp& response) {
  if (!sizes_fit()) return fail("the kernel's notification structures are larger than expected", E2BIG);
  Buffer buffer{};
  std::memcpy(buffer.bytes, &response, sizeof response);
  if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, buffer.bytes) == 0 || errno == ENOENT) return {};
  return fail("answer a seccomp notification", errno);
}

}  // namespace

Expected<NotifyState> notify_receive(int listener, Notification& notification) {
  if (!sizes_fit()) return fail("the kernel's notification structures are larger than expected", E2BIG);
  pollfd ready{listener, POLLIN, 0};
  const int count = ::poll(&ready, 1, 0);
  if (count < 0 && errno != EINTR) return fail("poll the seccomp listener", errno);
  if (count <= 0) return NotifyState::none;
  if ((ready.revents & POLLIN) == 0) return NotifyState::ended;  // POLLHUP
  Buffer buffer{};                                               // the kernel refuses one that isn't zero
  if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, buffer.bytes) != 0) {
    if (errno == ENOENT || errno == EINTR) return NotifyState::none;
    return fail("receive a seccomp notification", errno);
  }
  seccomp_notif received;
  std::memcpy(&received, buffer.bytes, sizeof received);
  notification = {.id = received.id, .tid = static_cast<pid_t>(received.pid), .data = received.data};
  return NotifyState::one;
}

Expected<void> notify_deny(int listener, std::uint64_t id, int err) {
  return respond(listener, {.id = id, .val = 0, .error = -err, .flags = 0});
}

Expected<void> notify_continue(int listener, std::uint64_t id) {
  return respond(listener, {.id = id, .val = 0, .error = 0, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE});
}

Expected<void> notify_give(int listener, std::uint64_t id, int fd, bool cloexec) {
  seccomp_notif_addfd given{};
  given.id = id;
  given.srcfd = static_cast<std::uint32_t>(fd);
  given.newfd_flags = cloexec ? O_CLOEXEC : 0;
  // Not SECCOMP_ADDFD_FLAG_SEND: interrupted, it would let the call return 0, which is a descriptor.
  constexpr int kTries = 5;  // counted, not timed: a pod whose CPU quota is used up sleeps with its supervisor
  const Interrupt interrupt(std::chrono::milliseconds(20));
  int number = -1;
  for (int i = 0; i < kTries && number < 0; ++i) {
    number = ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &given);
    if (number < 0 && errno != EINTR) break;
  }
  if (number >= 0) return respond(listener, {.id = id, .val = number, .error = 0, .flags = 0});
  if (errno == ENOENT) return {};
  return fail("give a descriptor", errno);
}

Expected<void> notify_succeed(int listener, std::uint64_t id) {
  return respond(listener, {.id = id, .val = 0, .error = 0, .flags = 0});
}

void notify_wake_synchronously(int listener) noexcept {
  constexpr unsigned long kSetFlags = SECCOMP_IOW(4, std::uint64_t);  // SECCOMP_IOCTL_NOTIF_SET_FLAGS, which Debian 12's header lacks
  constexpr std::uint64_t kSyncWakeUp = 1;                            // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
  (void)::ioctl(listener, kSetFlags, kSyncWakeUp);
}

bool notify_id_valid(int listener, std::uint64_t id) {
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int seccomp_action_available(std::uint32_t action) noexcept {
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 ? 0 : errno;
}

int seccomp_set_filter(unsigned flags, const sock_filter* program, std::size_t length) noexcept {
  const sock_fprog filter{static_cast<unsigned short>(length), const_cast<sock_filter*>(program)};
  return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter));
}

}  // namespace podjail
