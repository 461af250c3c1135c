#include "run/ending.h"

#include <gtest/gtest.h>

#include <csignal>

namespace podjail {
namespace {

Evidence exited(int code) {
  Evidence e;
  e.exit_code = code;
  return e;
}

TEST(Ending, TheScriptsOwnEndDecides) {
  EXPECT_EQ(decide_ending(exited(0)).status, Status::succeeded);
  EXPECT_EQ(decide_ending(exited(0)).reason, "");
  const Cause failed = decide_ending(exited(3));
  EXPECT_EQ(failed.status, Status::failed);
  EXPECT_EQ(failed.reason, "exit_code");
  EXPECT_NE(failed.message.find("3"), std::string::npos);
  Evidence killed;
  killed.exit_signal = SIGSEGV;
  EXPECT_EQ(decide_ending(killed).status, Status::killed);
  EXPECT_EQ(decide_ending(killed).reason, "SIGSEGV");
}

TEST(Ending, TheKernelsLimitSignalsAreTheLimits) {
  Evidence e;
  e.exit_signal = SIGXCPU;
  EXPECT_EQ(decide_ending(e).status, Status::killed);
  e.cpu_limit = Millis(1000);
  EXPECT_EQ(decide_ending(e).reason, "limits.cpu");
  e.exit_signal = SIGXFSZ;
  e.file_size_limit = 1;
  EXPECT_EQ(decide_ending(e).reason, "limits.file_size");
}

TEST(Ending, TheFirstCauseWinsOverEverythingLater) {
  Evidence e = exited(0);
  e.first = Cause{Status::timed_out, "limits.wall", "too long"};
  e.late = Cause{Status::disk_exceeded, "limits.scratch", "too much"};
  EXPECT_EQ(decide_ending(e).status, Status::timed_out);
  e.first.reset();
  EXPECT_EQ(decide_ending(e).status, Status::disk_exceeded);
}

TEST(Ending, AClaimCanNotTurnAFailureIntoSuccess) {
  Evidence e = exited(1);
  e.claim = wire::Ended{};
  e.claim->return_value = "1";
  e.function_mode = true;
  EXPECT_EQ(decide_ending(e).status, Status::failed);
  e.first = Cause{Status::memory_exceeded, "limits.memory", ""};
  EXPECT_EQ(decide_ending(e).status, Status::memory_exceeded);
}

TEST(Ending, AnUncaughtMemoryErrorUnderALimitIsTheLimitByTheScriptsWord) {
  Evidence e = exited(1);
  e.claim = wire::Ended{};
  e.claim->exception = wire::ExceptionClaim{"MemoryError", "", "", 1};
  e.claim->memory_error = true;
  EXPECT_EQ(decide_ending(e).status, Status::failed);  // no limit, no cause in it
  e.memory_limit = 64U << 20;
  const Cause cause = decide_ending(e);
  EXPECT_EQ(cause.status, Status::memory_exceeded);
  EXPECT_EQ(cause.reason, "limits.memory");
  EXPECT_FALSE(cause.observed);
}

TEST(Ending, AFunctionSucceedsOnlyWithAValue) {
  Evidence e = exited(0);
  e.function_mode = true;
  EXPECT_EQ(decide_ending(e).reason, "no_return_value");
  e.claim = wire::Ended{};
  EXPECT_EQ(decide_ending(e).reason, "no_return_value");
  e.claim->return_reason = "return_value_too_large";
  EXPECT_EQ(decide_ending(e).status, Status::failed);
  EXPECT_EQ(decide_ending(e).reason, "return_value_too_large");
  e.claim->return_reason = "limits.wall";  // no word of the runner's
  EXPECT_EQ(decide_ending(e).reason, "no_return_value");
  e.claim->return_reason.clear();
  e.claim->return_value = "null";
  EXPECT_EQ(decide_ending(e).status, Status::succeeded);
}

}  // namespace
}  // namespace podjail
