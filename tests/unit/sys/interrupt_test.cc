#include "sys/interrupt.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "sys/clock.h"

namespace podjail {
namespace {

TEST(Interrupt, EndsWhatBlocksAgainAndAgain) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  char byte = 0;
  {
    const Interrupt interrupt(std::chrono::milliseconds(5));
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(::read(ends[0], &byte, 1), -1);
      EXPECT_EQ(errno, EINTR);
    }
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(Interrupt, LeavesSignalAndTimerAsTheyWere) {
  sigset_t alarm, before, after;
  ::sigemptyset(&alarm);
  ::sigaddset(&alarm, SIGALRM);
  ::sigprocmask(SIG_BLOCK, &alarm, &before);
  { const Interrupt interrupt(std::chrono::milliseconds(1)); }
  ::usleep(5000);
  sigset_t waiting;
  ::sigpending(&waiting);
  EXPECT_EQ(::sigismember(&waiting, SIGALRM), 0);  // the timer is off
  ::sigprocmask(SIG_SETMASK, &before, &after);
  EXPECT_EQ(::sigismember(&after, SIGALRM), 1);
  struct sigaction action {};
  ::sigaction(SIGALRM, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

}  // namespace
}  // namespace podjail
