#include "run/artifacts.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/sha256.h"
#include "sys/files.h"

namespace podjail {
namespace {

namespace fs = std::filesystem;

class Artifacts : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/podjail-test-XXXXXX";
    root_ = ::mkdtemp(name);
    fs::create_directories(root_ + "/data/work/output");
    fs::create_directories(root_ + "/out");
    limits_.artifact_bytes = 1000;
    limits_.artifact_files = 3;
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(AT_FDCWD, root_)); }

  std::string output(const std::string& name) const { return root_ + "/data/work/output/" + name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(output(name)) << text; }

  ArtifactReport collect() {
    const Fd data = open_at(AT_FDCWD, root_ + "/data", O_RDONLY | O_DIRECTORY).value();
    const Fd out = open_at(AT_FDCWD, root_ + "/out", O_RDONLY | O_DIRECTORY).value();
    auto report = collect_artifacts(data.get(), out.get(), limits_, links_);
    EXPECT_TRUE(report) << report.error().message();
    for (const auto& entry : report->refused) reasons_[entry.path] = entry.reason;
    return *report;
  }

  std::string root_;
  Policy::Limits limits_;
  LinkTargets links_;
  std::map<std::string, std::string> reasons_;
};

TEST_F(Artifacts, RegularFilesAreCopiedWithTheirHash) {
  fs::create_directories(output("reports/2024 q1"));
  write("reports/2024 q1/sales – été.csv", "sku,n\n");
  write("empty", "");
  const ArtifactReport report = collect();
  ASSERT_EQ(report.files.size(), 2U);
  EXPECT_EQ(report.files[1].path, "reports/2024 q1/sales – été.csv");
  EXPECT_EQ(report.files[1].bytes, 6U);
  EXPECT_EQ(report.files[1].sha256, sha256_hex("sku,n\n"));
  EXPECT_TRUE(report.refused.empty());
  EXPECT_EQ(fs::file_size(root_ + "/out/artifacts/reports/2024 q1/sales – été.csv"), 6U);
}

TEST_F(Artifacts, LinksToFilesOfTheInputAreTakenAsFiles) {
  fs::create_directories(root_ + "/in/sub");
  std::ofstream(root_ + "/in/sub/a.csv") << "given";
  std::ofstream(root_ + "/in/hidden.json") << "not of the input";
  std::ofstream(root_ + "/data/work/copy.csv") << "copied";
  std::ofstream(root_ + "/data/work/own.csv") << "the script's own";
  fs::create_symlink(root_ + "/in/sub/a.csv", output("a.csv"));
  fs::create_symlink("../copy.csv", output("copy.csv"));
  fs::create_symlink("../own.csv", output("own.csv"));
  fs::create_symlink(root_ + "/in/hidden.json", output("hidden.json"));
  fs::create_directory_symlink(root_ + "/in/sub", output("sub"));
  InputTree input;
  using Kind = InputEntry::Kind;
  input.entries = {{.path = "copy.csv"}, {.kind = Kind::folder, .path = "sub"}, {.path = "sub/a.csv"}};
  links_ = {root_ + "/data/work/output", root_ + "/data/work", root_ + "/task", root_ + "/in", &input};
  const ArtifactReport report = collect();
  ASSERT_EQ(report.files.size(), 2U);
  EXPECT_EQ(report.files[0].sha256, sha256_hex("given"));
  EXPECT_EQ(report.files[1].sha256, sha256_hex("copied"));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(root_ + "/out/artifacts/a.csv")));
  for (const char* refused : {"own.csv", "hidden.json", "sub"}) EXPECT_EQ(reasons_[refused], "symlink") << refused;
}

TEST_F(Artifacts, LongChainsOfLinksAreRefusedAtOnce) {
  std::ofstream(root_ + "/in.csv") << "x";
  InputTree input;
  for (int i = 0; i < 20; ++i) input.entries.push_back({.kind = InputEntry::Kind::link, .path = "l" + std::to_string(10 + i)});
  std::string detour;
  for (int i = 0; i < 800; ++i) detour += "a/../";
  for (int i = 0; i < 20; ++i) fs::create_symlink(detour + "l" + std::to_string(11 + i), root_ + "/data/work/l" + std::to_string(10 + i));
  for (int i = 0; i < 200; ++i) fs::create_symlink("../l10", output("x" + std::to_string(i)));
  links_ = {root_ + "/data/work/output", root_ + "/data/work", root_ + "/task", root_ + "/in", &input};
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(collect().refused_count, 200U);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
}

TEST_F(Artifacts, TotalsCountWhatTheListLeavesOut) {
  limits_.artifact_files = 5;
  fs::create_directories(output("many"));
  for (int i = 0; i < 1500; ++i) write("many/" + std::to_string(i), "x");
  fs::create_symlink("x", output("link"));
  const ArtifactReport report = collect();
  EXPECT_EQ(report.found, 1501U);
  EXPECT_EQ(report.files.size(), 5U);
  EXPECT_EQ(report.refused_count, 1496U);
  EXPECT_THAT(report.refused_reasons, testing::ElementsAre("limits.artifact_files", "symlink"));
  EXPECT_TRUE(report.complete);
}

TEST_F(Artifacts, EntriesBeyondThoseLookedAtAreCounted) {
  fs::create_directories(output("deep/er"));
  for (int i = 0; i < 20500; ++i)
    ASSERT_EQ(::mknod(output((i % 2 == 0 ? "deep/" : "deep/er/") + std::to_string(i)).c_str(), S_IFREG | 0600, 0), 0);
  limits_.artifact_files = 0;
  const ArtifactReport report = collect();
  EXPECT_EQ(report.found, 20500U);
  EXPECT_EQ(report.refused_count, 20500U);
  EXPECT_TRUE(report.refused_reasons.contains("too_many_entries"));
  EXPECT_LE(report.refused.size(), 20000U);
}

TEST_F(Artifacts, WhatIsNoPlainFileIsRefusedWithItsReason) {
  write("real", "x");
  fs::create_hard_link(output("real"), output("second"));
  fs::create_symlink("/etc/passwd", output("passwd"));
  fs::create_directory_symlink("..", output("up"));
  ASSERT_EQ(::mkfifo(output("pipe").c_str(), 0600), 0);
  write("bad\xc3", "x");
  write("esc\x1b[31m", "x");
  const ArtifactReport report = collect();
  EXPECT_TRUE(report.files.empty());
  EXPECT_EQ(reasons_["passwd"], "symlink");
  EXPECT_EQ(reasons_["up"], "symlink");
  EXPECT_EQ(reasons_["pipe"], "fifo");
  EXPECT_EQ(reasons_["real"], "hard_link");
  EXPECT_EQ(reasons_["second"], "hard_link");
  EXPECT_EQ(reasons_["bad\\xc3"], "bad_name");
  EXPECT_EQ(reasons_["esc\\x1b[31m"], "bad_name");
}

TEST_F(Artifacts, LimitsHold) {
  write("a", std::string(600, 'a'));
  write("b", std::string(600, 'b'));
  ASSERT_EQ(::truncate((write("sparse", ""), output("sparse")).c_str(), 1LL << 40), 0);
  const ArtifactReport report = collect();
  EXPECT_EQ(report.files.size(), 1U);
  EXPECT_EQ(reasons_["sparse"], "limits.artifact_bytes");
  EXPECT_EQ(report.refused.size(), 2U);
}

TEST_F(Artifacts, AnOutputFolderThatBecameALinkIsNotFollowed) {
  fs::remove(output(""));
  fs::remove(root_ + "/data/work/output");
  fs::create_directory_symlink("/etc", root_ + "/data/work/output");
  const ArtifactReport report = collect();
  EXPECT_TRUE(report.files.empty());
  EXPECT_EQ(reasons_["."], "symlink");
}

TEST_F(Artifacts, PermissionsThatTheScriptTookAwayComeBack) {
  fs::create_directories(output("locked"));
  write("locked/inside", "x");
  write("secret", "y");
  fs::permissions(output("secret"), fs::perms::none);
  fs::permissions(output("locked"), fs::perms::none);
  fs::permissions(root_ + "/data/work/output", fs::perms::none);
  EXPECT_EQ(collect().files.size(), 2U);
}

}  // namespace
}  // namespace podjail
