#include "run/limits_watch.h"

#include <gtest/gtest.h>

namespace podjail {
namespace {

TEST(LimitsWatch, EachLimitHoldsAtItsBorder) {
  Policy::Limits limits;
  EXPECT_FALSE(over_memory(limits, UINT64_MAX));
  EXPECT_FALSE(over_cpu(limits, 1e9));
  limits.memory = 100;
  EXPECT_FALSE(over_memory(limits, 100));
  EXPECT_EQ(over_memory(limits, 101)->reason, "limits.memory");
  limits.cpu = Millis(1500);
  EXPECT_FALSE(over_cpu(limits, 1.5));
  EXPECT_EQ(over_cpu(limits, 1.51)->status, Status::cpu_exceeded);
  EXPECT_FALSE(over_tasks(limits, UINT64_MAX, UINT64_MAX));
  limits.processes = 4;
  limits.threads = 8;
  EXPECT_FALSE(over_tasks(limits, 4, 8));
  EXPECT_EQ(over_tasks(limits, 5, 8)->reason, "limits.processes");
  EXPECT_EQ(over_tasks(limits, 4, 9)->reason, "limits.threads");
  limits.scratch = 1 << 20;
  limits.scratch_files = 10;
  EXPECT_FALSE(over_scratch(limits, {1 << 20, 10}));
  EXPECT_EQ(over_scratch(limits, {2 << 20, 1})->reason, "limits.scratch");
  EXPECT_EQ(over_scratch(limits, {0, 1, true})->reason, "limits.scratch_files");
  EXPECT_EQ(over_scratch(limits, {0, 100})->reason, "limits.scratch_files");
}

TEST(LimitsWatch, LooksMoreOftenNearALimit) {
  Policy::Limits limits;
  EXPECT_EQ(next_look(limits, 0, 0, 1).count(), 100);
  limits.memory = 512U << 20;
  EXPECT_EQ(next_look(limits, 32U << 20, 0, 1).count(), 60);
  EXPECT_EQ(next_look(limits, 464U << 20, 0, 1).count(), 6);
  EXPECT_EQ(next_look(limits, 600U << 20, 0, 1).count(), 5);
  limits.cpu = Millis(1000);
  EXPECT_EQ(next_look(limits, 0, 0.98, 2).count(), 11);
}

}  // namespace
}  // namespace podjail
