#include "run/mounts.h"

#include <gtest/gtest.h>

namespace podjail {
namespace {

// C-14. One volume (8:16) by two subPaths and whole, a database that only looks alike, a mount within a mount, a name with a space.
constexpr const char* kPod =
    "100 1 0:50 / / ro - overlay overlay rw\n"
    "101 100 8:16 /run1 /out rw - ext4 /dev/sdb rw\n"
    "102 100 8:16 /run2 /other rw - ext4 /dev/sdb rw\n"
    "103 100 8:16 / /data rw - ext4 /dev/sdb rw\n"
    "104 100 8:32 / /database rw - ext4 /dev/sdc rw\n"
    "105 100 0:60 / /work rw - tmpfs tmpfs rw\n"
    "106 105 8:16 /run1 /work/sub rw - ext4 /dev/sdb rw\n"
    "107 100 8:16 /run1 /a\\040b rw - ext4 /dev/sdb rw\n";

Mounts parsed(std::string_view text) {
  return Mounts::parse(text).value();
}

TEST(Mounts, TheSameVolumeByAnotherMountIsFound) {
  const Mounts mounts = parsed(kPod);
  EXPECT_EQ(mounts.find_within("/data", "/out/result"), "/data");
  EXPECT_EQ(mounts.find_within("/data/run1", "/out"), "/data");
  EXPECT_EQ(mounts.find_within("/a b", "/out"), "/a b");
  EXPECT_EQ(mounts.find_within("/out/sub", "/out/sub/x"), "/out");
}

TEST(Mounts, AMountBeneathTheRootCounts) {
  const Mounts mounts = parsed(kPod);
  EXPECT_EQ(mounts.find_within("/work", "/out"), "/work/sub");
  EXPECT_TRUE(mounts.find_within("/", "/out"));
}

TEST(Mounts, WhatLiesApartIsNot) {
  const Mounts mounts = parsed(kPod);
  EXPECT_FALSE(mounts.find_within("/other", "/out"));
  EXPECT_FALSE(mounts.find_within("/data/run2", "/out"));
  EXPECT_FALSE(mounts.find_within("/data/run", "/out"));  // run1 only begins alike
  EXPECT_FALSE(mounts.find_within("/database", "/out"));
  EXPECT_FALSE(mounts.find_within("/work/elsewhere", "/out"));
}

TEST(Mounts, TheUppermostOfTwoMountsCounts) {
  const std::string text = std::string(kPod) + "108 103 0:61 / /data rw - tmpfs tmpfs rw\n";
  EXPECT_FALSE(parsed(text).find_within("/data", "/out"));
}

TEST(Mounts, WhatCannotBeReadIsAnError) {
  EXPECT_FALSE(Mounts::parse("100 1 0:50 / ro"));
  EXPECT_FALSE(Mounts::parse("100 1 0:50 / relative rw - overlay overlay rw\n"));
  EXPECT_FALSE(Mounts::parse("101 100 8:16 / /out rw - ext4 /dev/sdb rw\n"));
  EXPECT_FALSE(Mounts::parse(""));
}

}  // namespace
}  // namespace podjail
