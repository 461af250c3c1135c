#pragma once
#include <sys/time.h>

#include <chrono>
#include <csignal>

namespace podjail {

/// While it lives, SIGALRM comes again and again after `every`, so that no interruptible system call of this thread blocks for longer: it
/// fails with EINTR. One at a time, and for a process with one thread: signal handler, mask and timer are the process's. They are put back
/// at the end.
class Interrupt {
 public:
  explicit Interrupt(std::chrono::milliseconds every);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

 private:
  struct sigaction action_ {};
  sigset_t mask_{};
};

}  // namespace podjail
