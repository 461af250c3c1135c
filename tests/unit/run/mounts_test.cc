#include "run/mounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace podjail {
namespace {

using testing::HasSubstr;
using testing::Optional;

constexpr std::string_view kRoot = "1 0 0:40 / / rw,relatime - overlay overlay rw\n";

// By which mount a rule for `root` reaches `path`; the mounts stand on a container's root.
std::optional<std::string> within(const std::string& mounts, std::string_view root, std::string_view path) {
  const auto parsed = Mounts::parse(std::string(kRoot) + mounts);
  EXPECT_TRUE(parsed) << parsed.error().message();
  return parsed ? parsed->find_within(root, path) : std::nullopt;
}

std::string line(int id, int parent, std::string_view device, std::string_view root, std::string_view point) {
  return std::to_string(id) + " " + std::to_string(parent) + " " + std::string(device) + " " + std::string(root) + " " +
         std::string(point) + " rw,relatime shared:7 - ext4 /dev/sda rw\n";
}

TEST(Mounts, OneMountIsComparedByComponents) {
  EXPECT_THAT(within("", "/data", "/data"), Optional(std::string("/")));
  EXPECT_THAT(within("", "/data", "/data/run1"), Optional(std::string("/")));
  EXPECT_THAT(within("", "/", "/out"), Optional(std::string("/")));
  EXPECT_EQ(within("", "/data", "/database"), std::nullopt);
  EXPECT_EQ(within("", "/data/run1", "/data"), std::nullopt);
  EXPECT_EQ(within("", "/data", "/"), std::nullopt);
}

TEST(Mounts, AVolumeMountedTwiceIsFound) {
  const std::string twice = line(2, 1, "8:1", "/run1", "/out") + line(3, 1, "8:1", "/", "/data");
  EXPECT_THAT(within(twice, "/data", "/out"), Optional(std::string("/data")));
  EXPECT_THAT(within(twice, "/data", "/out/deeper"), Optional(std::string("/data")));
  EXPECT_THAT(within(twice, "/data/run1", "/out"), Optional(std::string("/data")));
  EXPECT_EQ(within(twice, "/data/run", "/out"), std::nullopt);
  EXPECT_EQ(within(twice, "/data/run10", "/out"), std::nullopt);
  EXPECT_EQ(within(twice, "/data/run1/x", "/out"), std::nullopt);
  EXPECT_EQ(within(twice, "/out", "/data"), std::nullopt);
  EXPECT_THAT(within(twice, "/out", "/data/run1/x"), Optional(std::string("/out")));
  EXPECT_EQ(within(twice, "/srv", "/out"), std::nullopt);
}

TEST(Mounts, PartsOfOneVolumeAreApart) {
  const std::string apart = line(2, 1, "8:1", "/vol/run1", "/out") + line(3, 1, "8:1", "/vol/run", "/data");
  EXPECT_EQ(within(apart, "/data", "/out"), std::nullopt);
  EXPECT_EQ(within(apart, "/data/1", "/out"), std::nullopt);
}

TEST(Mounts, EqualPathsOnTwoVolumesAreApart) {
  const std::string two = line(2, 1, "8:1", "/run1", "/out") + line(3, 1, "8:17", "/", "/data");
  EXPECT_EQ(within(two, "/data", "/out"), std::nullopt);
  EXPECT_EQ(within(two, "/data/run1", "/out"), std::nullopt);
}

TEST(Mounts, ASingleFileMountedIsFound) {
  const std::string file = line(2, 1, "8:1", "/conf/policy.json", "/etc/policy.json") + line(3, 1, "8:1", "/conf", "/data");
  EXPECT_THAT(within(file, "/data", "/etc/policy.json"), Optional(std::string("/data")));
  EXPECT_THAT(within(file, "/data/policy.json", "/etc/policy.json"), Optional(std::string("/data")));
  EXPECT_EQ(within(file, "/data/policy", "/etc/policy.json"), std::nullopt);
}

TEST(Mounts, AMountBelowTheRootCounts) {
  const std::string nested = line(2, 1, "8:1", "/run1", "/out") + line(3, 1, "8:17", "/", "/data") + line(4, 3, "8:1", "/", "/data/sub");
  EXPECT_THAT(within(nested, "/data", "/out"), Optional(std::string("/data/sub")));
  EXPECT_THAT(within(nested, "/", "/out"), Optional(std::string("/out")));
  EXPECT_EQ(within(nested, "/data/subway", "/out"), std::nullopt);
  EXPECT_EQ(within(nested, "/data/other", "/out"), std::nullopt);
  const std::string apart = line(2, 1, "8:1", "/run1", "/out") + line(4, 1, "8:1", "/run", "/data/sub");
  EXPECT_EQ(within(apart, "/data", "/out"), std::nullopt);
  const std::string beside = line(2, 1, "8:1", "/run1", "/out") + line(4, 1, "8:1", "/", "/database");
  EXPECT_EQ(within(beside, "/data", "/out"), std::nullopt);
}

TEST(Mounts, AMountOnTheRootByItsOtherNameCounts) {
  // The rule is for the folder /a of 8:17, and /other/a is it as well: so is what is mounted on that, and on this in turn.
  const std::string other = line(2, 1, "8:1", "/run1", "/out") + line(3, 1, "8:17", "/a", "/data") + line(4, 1, "8:17", "/", "/other") +
                            line(5, 4, "8:33", "/", "/other/a/x") + line(6, 5, "8:1", "/", "/other/a/x/y");
  EXPECT_THAT(within(other, "/data", "/out"), Optional(std::string("/other/a/x/y")));
  EXPECT_EQ(within(other, "/data/z", "/out"), std::nullopt);
}

TEST(Mounts, TheLatestMountOnAPointIsItsOwn) {
  const std::string over = line(2, 1, "8:1", "/run1", "/out") + line(3, 1, "8:1", "/", "/data") + line(4, 3, "8:17", "/", "/data");
  EXPECT_EQ(within(over, "/data", "/out"), std::nullopt);
  const std::string under = line(2, 1, "8:1", "/run1", "/out") + line(3, 1, "8:17", "/", "/data") + line(4, 3, "8:1", "/", "/data");
  EXPECT_THAT(within(under, "/data", "/out"), Optional(std::string("/data")));
  // Moved there after it was made: the parent counts, not the line.
  const std::string moved = line(2, 1, "8:1", "/run1", "/out") + line(3, 4, "8:1", "/", "/data") + line(4, 1, "8:17", "/", "/data");
  EXPECT_THAT(within(moved, "/data", "/out"), Optional(std::string("/data")));
  // The same parent twice, which no kernel of today lists: the last line.
  const std::string same = line(2, 1, "8:1", "/run1", "/out") + line(3, 1, "8:17", "/", "/data") + line(4, 1, "8:1", "/", "/data");
  EXPECT_THAT(within(same, "/data", "/out"), Optional(std::string("/data")));
}

TEST(Mounts, AMountThatALaterOneHidesHoldsNoPath) {
  const std::string hidden = line(2, 1, "8:17", "/", "/a/b") + line(3, 1, "8:1", "/", "/a") + line(4, 1, "8:1", "/b/run1", "/out");
  // Both lie on /; the kernel meets /a first.
  EXPECT_THAT(within(hidden, "/a/b", "/out"), Optional(std::string("/a")));
}

TEST(Mounts, EscapesAreUndone) {
  const std::string names = line(2, 1, "8:1", "/a\\040b\\011c\\012d\\134e", "/out\\040put") + line(3, 1, "8:1", "/a\\040b", "/data") +
                            line(4, 1, "8:1", "/", "/da\\134040ta");
  EXPECT_THAT(within(names, "/da\\040ta/a b\tc\nd\\e", "/out put"), Optional(std::string("/da\\040ta")));
  EXPECT_THAT(within(names, "/da\\040ta", "/out put"), Optional(std::string("/da\\040ta")));
  EXPECT_EQ(within(names, "/data", "/out put"), std::nullopt);  // "a b" is not "a b\tc\nd\e"
}

TEST(Mounts, SubvolumesShareOneTree) {
  const std::string btrfs = line(2, 1, "0:52", "/@data/run1", "/out") + line(3, 1, "0:52", "/", "/data");
  EXPECT_THAT(within(btrfs, "/data", "/out"), Optional(std::string("/data")));
  EXPECT_EQ(within(btrfs, "/data/@home", "/out"), std::nullopt);
}

TEST(Mounts, AnUnlistedParentIsTheRoot) {
  const std::string mounts = line(2, 99, "8:1", "/run1", "/out") + line(3, 98, "8:1", "/", "/data/sub") + line(4, 4, "8:17", "/", "/x");
  EXPECT_THAT(within(mounts, "/data", "/out"), Optional(std::string("/data/sub")));
  EXPECT_EQ(within(mounts, "/x", "/out"), std::nullopt);
}

TEST(Mounts, ParentsThatFormACircleEnd) {
  const std::string circle = line(2, 3, "8:1", "/", "/data") + line(3, 2, "8:1", "/run1", "/out") + line(2, 3, "8:1", "/", "/data");
  EXPECT_EQ(within(circle, "/data", "/out"), std::nullopt);
}

TEST(Mounts, ALineThatIsNoneIsAnError) {
  for (const std::string bad : {"x", "2 1 8:1 / /data", "2 1 8 / /data rw\n", "a 1 8:1 / /data rw\n", "2 -x 8:1 / /data rw\n",
                                "2 1 8:1 / data rw\n", "2 1 8:1  /data rw\n", "\n"}) {
    const auto parsed = Mounts::parse(std::string(kRoot) + bad);
    EXPECT_FALSE(parsed) << bad;
  }
  EXPECT_TRUE(Mounts::parse("1 0 0:40 / / rw"));
}

TEST(Mounts, WithoutAMountAtSlashNothingCanBeTold) {
  for (const std::string& mounts :
       {std::string(), line(2, 1, "8:1", "/run1", "/out"), line(1, 2, "8:1", "/", "/") + line(2, 1, "8:1", "/", "/")}) {
    const auto parsed = Mounts::parse(mounts);
    ASSERT_FALSE(parsed) << mounts;
    EXPECT_THAT(parsed.error().message(), HasSubstr("no mount at /"));
  }
}

TEST(Mounts, ARootMountedOnARootCounts) {
  const auto parsed = Mounts::parse(line(1, 1, "0:2", "/", "/") + line(2, 1, "8:1", "/", "/") + line(3, 2, "8:1", "/srv/run1", "/out"));
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_THAT(parsed->find_within("/srv", "/out"), Optional(std::string("/")));
  EXPECT_EQ(parsed->find_within("/opt", "/out"), std::nullopt);
}

}  // namespace
}  // namespace podjail
