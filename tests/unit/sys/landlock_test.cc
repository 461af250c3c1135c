#include "sys/landlock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "sys/landlock_abi.h"

namespace podjail::landlock {
namespace {

TEST(LandlockAbi, KnowsTheRightsOfEachAbi) {
  EXPECT_EQ(fs_rights(0), 0U);
  EXPECT_EQ(fs_rights(1), 0x1fffU);
  EXPECT_EQ(fs_rights(2), 0x3fffU);
  EXPECT_EQ(fs_rights(3), 0x7fffU);
  EXPECT_EQ(fs_rights(4), 0x7fffU);
  EXPECT_EQ(fs_rights(5), 0xffffU);
  EXPECT_EQ(fs_rights(8), 0xffffU);
  EXPECT_EQ(fs_rights(9), 0x1ffffU);
  EXPECT_EQ(net_rights(3), 0U);
  EXPECT_EQ(net_rights(4), 3U);
  EXPECT_EQ(scopes(5), 0U);
  EXPECT_EQ(scopes(6), 3U);
}

// The running kernel takes every right that we ascribe to its ABI, and to each older one.
TEST(LandlockAbi, IsWhatTheKernelTakes) {
  const int abi = abi_version();
  if (abi < 1) GTEST_SKIP() << "no Landlock here";
  for (int each = 1; each <= abi; ++each) {
    const int ruleset = create_ruleset({fs_rights(each), net_rights(each), scopes(each)});
    EXPECT_GE(ruleset, 0) << "ABI " << each;
    if (ruleset >= 0) ::close(ruleset);
  }
}

}  // namespace
}  // namespace podjail::landlock
