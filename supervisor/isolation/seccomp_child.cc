#include "isolation/seccomp_child.h"

#include <linux/seccomp.h>
#include <unistd.h>

#include <cerrno>

#include "isolation/seccomp_program.h"
#include "sys/seccomp_notify.h"

namespace podjail {
namespace {

constexpr unsigned kTsync =
    SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH;  // the second (5.7) because a listener needs it with TSYNC

void put_own_pid(sock_filter* program, std::size_t length, std::uint32_t pid) noexcept {
  for (std::size_t i = 0; i < length; ++i) {
    if (program[i].code == (BPF_JMP | BPF_JEQ | BPF_K) && program[i].k == kOwnPid) program[i].k = pid;
  }
}

SeccompInstalled failed(const char* step) noexcept {
  return {.err = errno, .step = step};
}

}  // namespace

SeccompInstalled install_seccomp(sock_filter* guard, std::size_t guard_length, sock_filter* allow_list, std::size_t allow_length,
                                 sock_filter* fallback, std::size_t fallback_length, bool listener) noexcept {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  put_own_pid(guard, guard_length, pid);
  put_own_pid(allow_list, allow_length, pid);
  if (fallback != nullptr) put_own_pid(fallback, fallback_length, pid);

  if (seccomp_set_filter(kTsync, guard, guard_length) != 0) return failed("load the guard filter");
  if (!listener) {
    if (seccomp_set_filter(kTsync, allow_list, allow_length) != 0) return failed("load the allow-list filter");
    return {};
  }
  const unsigned flags = kTsync | SECCOMP_FILTER_FLAG_NEW_LISTENER;
  int fd = seccomp_set_filter(flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, allow_list, allow_length);
  if (fd < 0 && errno == EINVAL) fd = seccomp_set_filter(flags, allow_list, allow_length);  // WAIT_KILLABLE_RECV is Linux 5.19
  if (fd >= 0) return {.listener = fd};
  const int listener_err = errno;
  if (fallback == nullptr) return failed("load the allow-list filter with a listener");
  if (seccomp_set_filter(kTsync, fallback, fallback_length) != 0) return failed("load the allow-list filter");
  return {.listener_err = listener_err};
}

}  // namespace podjail
