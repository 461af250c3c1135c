#include "run/held_signals.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "result/write.h"

namespace podjail {
namespace {

constexpr std::array kCancelling = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

}  // namespace

sigset_t watched_signals() {
  sigset_t watched;
  ::sigemptyset(&watched);
  ::sigaddset(&watched, SIGCHLD);
  for (const int signal : kCancelling) ::sigaddset(&watched, signal);
  return watched;
}

void hold_signals() {
  const sigset_t watched = watched_signals();
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
}

Cause cancellation(int signal) {
  const std::string name = signal_name(signal);
  std::string reason = name;
  std::ranges::transform(reason, reason.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return {Status::cancelled, reason, "podjail got " + name, true};
}

std::optional<Cause> waiting_cancellation() {
  sigset_t waiting;
  ::sigemptyset(&waiting);
  ::sigpending(&waiting);
  for (const int signal : kCancelling) {
    if (::sigismember(&waiting, signal) == 1) return cancellation(signal);
  }
  return std::nullopt;
}

}  // namespace podjail
