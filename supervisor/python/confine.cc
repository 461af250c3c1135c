#include "python/confine.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "isolation/seccomp_child.h"

namespace podjail::python {
namespace {

// A folder has a link for each subfolder, itself and its parent's entry.
Expected<unsigned long> count_threads() {
  struct stat tasks {};
  if (::stat("/proc/self/task", &tasks) != 0) return fail("count the threads in", errno, "/proc/self/task");
  return tasks.st_nlink - 2;
}

Expected<wire::Confined> install(wire::Confine& filters, Fd& listener) {
  const unsigned long threads = TRY(count_threads());
  // Another thread would stay outside the filters.
  if (threads != 1)
    return fail("the interpreter already has " + std::to_string(threads) + " threads (a .pth file or sitecustomize starts them)");
  const SeccompInstalled installed =
      install_seccomp(filters.guard.data(), filters.guard.size(), filters.allow_list.data(), filters.allow_list.size(),
                      filters.fallback.empty() ? nullptr : filters.fallback.data(), filters.fallback.size(), filters.listener);
  if (installed.err != 0) return fail(installed.step, installed.err);
  listener = Fd(installed.listener);
  wire::Confined confined;
  confined.listener_err = installed.listener_err;
  if (!filters.landlock_probe.empty()) {
    const Fd probe(::open(filters.landlock_probe.c_str(), O_WRONLY | O_CLOEXEC));
    confined.landlock_probe_err = probe.valid() ? 0 : errno;
  }
  return confined;
}

}  // namespace

Expected<void> confine_myself(int control, wire::Confine& filters) {
  Fd listener;
  const auto done = install(filters, listener);
  wire::Confined confined;
  if (done) {
    confined = *done;
  } else {
    confined.error = done.error().message();
  }
  const int fds[] = {listener.get()};
  TRY_VOID(wire::send_frame(control, wire::Type::confined, wire::encode(confined),
                            listener.valid() ? std::span<const int>(fds) : std::span<const int>()));
  if (!done) return std::unexpected(done.error());
  return {};
}

}  // namespace podjail::python
