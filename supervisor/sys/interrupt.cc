#include "sys/interrupt.h"

namespace podjail {

Interrupt::Interrupt(std::chrono::milliseconds every) {
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};  // and no SA_RESTART
  ::sigaction(SIGALRM, &nothing, &action_);
  sigset_t alarm;
  ::sigemptyset(&alarm);
  ::sigaddset(&alarm, SIGALRM);
  ::sigprocmask(SIG_UNBLOCK, &alarm, &mask_);
  const timeval period{.tv_sec = every.count() / 1000, .tv_usec = every.count() % 1000 * 1000};
  const itimerval timer{.it_interval = period, .it_value = period};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

Interrupt::~Interrupt() {
  const itimerval none{};
  ::setitimer(ITIMER_REAL, &none, nullptr);
  // One that came after the last call is delivered here at the latest, while its handler stands.
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
  ::sigaction(SIGALRM, &action_, nullptr);
}

}  // namespace podjail
