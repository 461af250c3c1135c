#include "run/spawn_child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "isolation/seccomp_child.h"
#include "wire/wire.h"

namespace podjail {
namespace {

[[noreturn]] void give_up(int status_fd, ChildError error) {
  (void)!::write(status_fd, &error, sizeof error);
  ::_exit(127);
}

void reset_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal)
    ::sigaction(signal, &action, nullptr);  // KILL, STOP and glibc's own two refuse: they have no handler
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// `exec` only: what podjail-python does for `run`.
void confine_self(const SpawnSpec& spec, int status_fd) {
  int probe_err = 0;
  if (!spec.landlock_probe.empty()) {
    const int probe = ::open(spec.landlock_probe.c_str(), O_WRONLY | O_CLOEXEC);
    probe_err = probe < 0 ? errno : 0;
    if (probe >= 0) ::close(probe);
  }
  wire::Confined confined;
  confined.landlock_probe_err = probe_err;
  int listener = -1;
  if (spec.program != nullptr) {
    auto& [guard, allow_list, fallback, with_listener] = *spec.program;
    const SeccompInstalled installed = install_seccomp(guard.data(), guard.size(), allow_list.data(), allow_list.size(),
                                                       fallback.empty() ? nullptr : fallback.data(), fallback.size(), with_listener);
    if (installed.err != 0) give_up(status_fd, {installed.err, installed.step, "seccomp"});
    listener = installed.listener;
    confined.listener_err = installed.listener_err;
  }
  const std::span<const int> fds(&listener, listener >= 0 ? 1 : 0);
  if (!wire::send_frame(wire::kControlFd, wire::Type::confined, wire::encode(confined), fds))
    give_up(status_fd, {EPIPE, "report the filters"});
  if (listener >= 0) ::close(listener);
  const auto go = wire::receive_frame(wire::kControlFd);
  if (!go || go->type != wire::Type::go) ::_exit(127);  // the supervisor decided otherwise, and says why
  ::close(wire::kControlFd);
}

}  // namespace

void run_child(const SpawnSpec& spec, char* const* argv, char* const* env, int status_fd, pid_t supervisor) {
  ::setsid();
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(status_fd, {errno, "prctl(PR_SET_PDEATHSIG)"});
  if (::getppid() != supervisor) ::_exit(127);  // it died before the line above
  reset_signals();
  if (::chdir(spec.cwd.c_str()) != 0) give_up(status_fd, {errno, "chdir to the work folder"});
  const int order[] = {spec.stdin_fd, spec.stdout_fd, spec.stderr_fd, spec.control_fd, spec.report_fd};
  for (int target = 0; target < 5; ++target) {
    if (order[target] >= 0 && ::dup2(order[target], target) < 0) give_up(status_fd, {errno, "dup2"});
  }
  if (const ChildError error = enter_jail(spec.enter); error.err != 0) give_up(status_fd, error);
  // Nothing of the supervisor's stays open: all but 0..4 and the status pipe, which closes itself at exec.
  const int low = spec.report_fd >= 0 ? 5 : 4;
  if (::close_range(static_cast<unsigned>(low), static_cast<unsigned>(status_fd) - 1, 0) != 0 ||
      ::close_range(static_cast<unsigned>(status_fd) + 1, ~0U, 0) != 0) {
    give_up(status_fd, {errno, "close_range"});
  }
  if (spec.program != nullptr || spec.report_fd < 0) confine_self(spec, status_fd);
  ::execve(spec.path.c_str(), argv, env);
  give_up(status_fd, {errno, "execve"});
}

}  // namespace podjail
