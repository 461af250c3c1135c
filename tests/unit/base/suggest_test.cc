#include "base/suggest.h"

#include <gtest/gtest.h>

#include <array>

namespace podjail {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"limits", "filesystem", "network", "wall"};

TEST(Suggest, FindsTheNearMiss) {
  EXPECT_EQ(nearest("limit", kWords), "limits");
  EXPECT_EQ(nearest("limtis", kWords), "limits");  // neighbours swapped
  EXPECT_EQ(nearest("FileSystem", kWords), "filesystem");
  EXPECT_EQ(nearest("netwrk", kWords), "network");
  EXPECT_EQ(nearest("wal", kWords), "wall");
}

TEST(Suggest, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("syscalls", kWords), std::nullopt);
  EXPECT_EQ(nearest("", kWords), std::nullopt);
  EXPECT_EQ(nearest("x", kWords), std::nullopt);
  EXPECT_EQ(nearest(std::string(1000, 'w'), kWords), std::nullopt);
  EXPECT_EQ(did_you_mean("syscalls", kWords), "");
  EXPECT_EQ(did_you_mean("wal", kWords), "; did you mean \"wall\"?");
}

}  // namespace
}  // namespace podjail
