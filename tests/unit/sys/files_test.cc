#include "sys/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace podjail {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/podjail-test-XXXXXX";
    root_ = ::mkdtemp(name);
    folder_ = open_at(AT_FDCWD, root_, O_RDONLY | O_DIRECTORY).value();
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string root_;
  Fd folder_;
};

TEST_F(Files, SealedMemoryCanNotBeChanged) {
  const Fd fd = sealed_memfd("test", "bytes").value();
  EXPECT_EQ(read_all(fd.get(), 5).value(), "bytes");
  EXPECT_EQ(::write(fd.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(fd.get(), 0), -1);
}

TEST_F(Files, ReadAllStopsAtItsLimit) {
  const Fd fd = sealed_memfd("test", "bytes").value();
  EXPECT_EQ(read_all(fd.get(), 4).error().err, EFBIG);
  const Fd endless = open_at(AT_FDCWD, "/dev/zero", O_RDONLY).value();
  EXPECT_EQ(read_all(endless.get(), 1 << 20).error().err, EFBIG);
}

TEST_F(Files, OpenBeneathFollowsNothingOut) {
  fs::create_symlink("/etc/passwd", root_ + "/link");
  EXPECT_EQ(open_beneath(folder_.get(), "link", O_RDONLY).error().err, ELOOP);
  EXPECT_FALSE(open_beneath(folder_.get(), "../" + root_, O_RDONLY));
  EXPECT_FALSE(open_beneath(folder_.get(), "/etc/passwd", O_RDONLY));
}

TEST_F(Files, ContentsAreCopiedToTheEnd) {
  const std::string text(3U << 20, 'x');
  const Fd from = sealed_memfd("test", text).value();
  const Fd to = open_at(folder_.get(), "copy", O_RDWR | O_CREAT, 0600).value();
  ASSERT_TRUE(copy_contents(from.get(), to.get(), text.size(), [] { return false; }));
  ASSERT_EQ(::lseek(to.get(), 0, SEEK_SET), 0);
  EXPECT_EQ(read_all(to.get(), text.size()).value(), text);
  const Fd again = open_at(folder_.get(), "again", O_RDWR | O_CREAT, 0600).value();
  EXPECT_EQ(copy_contents(from.get(), again.get(), text.size() - 1, [] { return false; }).error().err, EFBIG);
}

TEST_F(Files, ContentsOfAFileThatSaysItIsEmptyAreCopied) {
  const Fd from = open_at(AT_FDCWD, "/proc/self/status", O_RDONLY).value();
  const Fd to = open_at(folder_.get(), "copy", O_RDWR | O_CREAT, 0600).value();
  ASSERT_TRUE(copy_contents(from.get(), to.get(), 1 << 20, [] { return false; }));
  EXPECT_GT(fs::file_size(root_ + "/copy"), 100U);
}

TEST_F(Files, RemoveTreeTakesLockedAndDeepFoldersAndLeavesLinkTargets) {
  fs::create_directories(root_ + "/target");
  fs::create_directories(root_ + "/tree/locked/inside");
  fs::create_directory_symlink(root_ + "/target", root_ + "/tree/link");
  fs::permissions(root_ + "/tree/locked", fs::perms::none);
  for (int i = 0; i < 1500; ++i) {
    ASSERT_EQ(::mkdirat(folder_.get(), "tmp", 0700), 0);
    if (i > 0) {
      ASSERT_EQ(::renameat(folder_.get(), "chain", folder_.get(), "tmp/chain"), 0);
    }
    ASSERT_EQ(::renameat(folder_.get(), "tmp", folder_.get(), "chain"), 0);
  }
  ASSERT_EQ(::renameat(folder_.get(), "chain", folder_.get(), "tree/chain"), 0);
  ASSERT_TRUE(remove_tree(folder_.get(), "tree"));
  EXPECT_FALSE(fs::exists(root_ + "/tree"));
  EXPECT_TRUE(fs::exists(root_ + "/target"));
  EXPECT_TRUE(remove_tree(folder_.get(), "never was"));
}

TEST_F(Files, MeasureTreeCountsAndStopsEarly) {
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(write_all(open_at(folder_.get(), "f" + std::to_string(i), O_WRONLY | O_CREAT, 0600).value().get(), "x"));
  EXPECT_EQ(measure_tree(folder_.get(), UINT64_MAX, UINT64_MAX).files, 20U);
  EXPECT_LE(measure_tree(folder_.get(), UINT64_MAX, 5).files, 6U);
  EXPECT_FALSE(measure_tree(folder_.get(), UINT64_MAX, UINT64_MAX).too_deep);
  std::string deep = root_;
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(fs::create_directory(deep += "/d"));
  EXPECT_TRUE(measure_tree(folder_.get(), UINT64_MAX, UINT64_MAX).too_deep);
}

}  // namespace
}  // namespace podjail
