#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "run/input_tree.h"
#include "run/lay_input.h"
#include "sys/files.h"

namespace podjail {
namespace {

namespace fs = std::filesystem;
using Mode = RunRequest::InputMode;
using Kind = InputEntry::Kind;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Input : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/podjail-test-XXXXXX";
    root_ = ::mkdtemp(name);
    ::setenv("PODJAIL_SCRATCH", root_.c_str(), 1);
    fs::create_directories(root_ + "/in");
    scratch_.emplace(Scratch::make().value());
  }
  void TearDown() override {
    EXPECT_TRUE(scratch_->remove());
    ::unsetenv("PODJAIL_SCRATCH");
    EXPECT_TRUE(remove_tree(AT_FDCWD, root_));
  }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + "/in/" + path).parent_path());
    std::ofstream(root_ + "/in/" + path) << text;
  }
  void link(const std::string& path, const std::string& target) const { fs::create_symlink(target, root_ + "/in/" + path); }
  [[nodiscard]] InputTree tree(const std::string& hidden = "") const { return read_input_tree(root_ + "/in", hidden).value(); }
  Expected<void> lay(InputLayout layout = {}) const {
    if (!layout.stop) layout.stop = [] { return false; };
    return lay_input(tree(), *scratch_, layout);
  }
  [[nodiscard]] fs::path work(const std::string& path) const { return scratch_->work() + "/" + path; }
  [[nodiscard]] fs::path task(const std::string& path) const { return scratch_->task() + "/" + path; }

  std::string root_;
  std::optional<Scratch> scratch_;
};

std::vector<std::string> paths(const InputTree& tree) {
  std::vector<std::string> all;
  for (const InputEntry& entry : tree.entries) all.push_back(entry.path);
  return all;
}

TEST_F(Input, IsWalkedWithoutFollowingLinks) {
  write("data/2023/a.csv", "100");
  write("mod.py", "");
  link("round", ".");
  link("lib.py", "data/2023/a.csv");
  link("out.py", "/etc/passwd");
  ASSERT_EQ(::mkfifo((root_ + "/in/pipe").c_str(), 0600), 0);
  write("hidden/result.json", "");
  const InputTree found = tree("hidden");
  EXPECT_THAT(paths(found), testing::ElementsAre("data", "data/2023", "data/2023/a.csv", "lib.py", "mod.py", "out.py", "pipe", "round"));
  EXPECT_THAT(found.top, testing::ElementsAre("data", "lib.py", "mod.py", "out.py", "pipe", "round"));
  const auto of = [&](const std::string& path) { return *std::ranges::find(found.entries, path, &InputEntry::path); };
  EXPECT_EQ(of("data/2023/a.csv").size, 3U);
  EXPECT_EQ(of("round").kind, Kind::link);
  EXPECT_EQ(of("pipe").kind, Kind::foreign);
  EXPECT_TRUE(of("mod.py").python && of("lib.py").python);
  EXPECT_FALSE(of("out.py").python) << "it leads out of the folder";
}

TEST_F(Input, AConfigMapVolumeHasTheFilesThatItShows) {
  write("..2026_12_07/config.json", "{}");
  write("..2026_12_07/sub/mod.py", "x = 1");
  link("..data", "..2026_12_07");
  link("config.json", "..data/config.json");
  link("sub", "..data/sub");
  EXPECT_THAT(paths(tree()), testing::ElementsAre("config.json", "sub", "sub/mod.py"));
  ASSERT_TRUE(lay());
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(work("config.json"))));
  EXPECT_TRUE(fs::is_directory(fs::symlink_status(work("sub"))));
  EXPECT_EQ(text_of(task("sub/mod.py")), "x = 1");
}

TEST_F(Input, CopiesAreRegularFilesThatTheScriptMayChange) {
  write("data/a.csv", "100");
  ASSERT_EQ(::chmod((root_ + "/in/data/a.csv").c_str(), 0555), 0);
  const auto time = fs::file_time_type::clock::now() - std::chrono::hours(48);
  fs::last_write_time(root_ + "/in/data/a.csv", time);
  ASSERT_TRUE(lay());
  struct stat about {};
  ASSERT_EQ(::lstat(work("data/a.csv").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode, static_cast<mode_t>(S_IFREG | 0755));
  EXPECT_EQ(about.st_nlink, 2U) << "work/ and task/ have the same file";
  EXPECT_EQ(fs::last_write_time(work("data/a.csv")), time);
  EXPECT_EQ(text_of(work("data/a.csv")), "100");
}

TEST_F(Input, BothNamesMeanOneFileButForWhatIsImported) {
  write("data/a.csv", "100");
  write("mod.py", "changed after it was read");
  write("__pycache__/mod.cpython-311.pyc", "unchecked");
  ASSERT_TRUE(lay({.validated = {{"mod.py", "x = 1"}}}));
  std::ofstream(work("data/a.csv")) << "7";
  EXPECT_EQ(text_of(task("data/a.csv")), "7");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(task("data/a.csv"))));
  EXPECT_EQ(text_of(task("mod.py")), "x = 1") << "what was checked is what runs";
  std::ofstream(work("mod.py")) << "other";
  EXPECT_EQ(text_of(task("mod.py")), "x = 1");
  EXPECT_FALSE(fs::exists(task("__pycache__")));
  EXPECT_TRUE(fs::exists(work("__pycache__/mod.cpython-311.pyc")));
}

TEST_F(Input, LinksStayLinksAndLeadWhereTheyLed) {
  write("2024.csv", "1");
  write("src/pkg/__init__.py", "");
  link("latest.csv", "2024.csv");
  link("pkg", "src/pkg");
  link("up", "../beside");
  link("absolute", "/etc/hostname");
  ASSERT_TRUE(lay());
  EXPECT_EQ(fs::read_symlink(work("latest.csv")), "2024.csv");
  EXPECT_EQ(fs::read_symlink(work("up")), root_ + "/beside");
  EXPECT_EQ(fs::read_symlink(work("absolute")), "/etc/hostname");
  EXPECT_EQ(fs::canonical(task("pkg")), task("src/pkg")) << "a package by its other name is the checked one, too";
}

TEST_F(Input, TheScriptsOwnPlaceAndOutputAreKept) {
  write("main.py", "other");
  write("output/old.txt", "old");
  std::ofstream(task("main.py")) << "script";
  ASSERT_TRUE(lay({.script_name = "main.py"}));
  EXPECT_EQ(text_of(task("main.py")), "script");
  EXPECT_EQ(text_of(work("main.py")), "other");
  EXPECT_FALSE(fs::exists(work("output/old.txt")));
  EXPECT_EQ(text_of(task("output/old.txt")), "old");
}

TEST_F(Input, InLinkModeOnlyFilesAreLinks) {
  write("data/big.bin", "big");
  write("mod.py", "x = 1");
  ASSERT_TRUE(lay({.mode = Mode::link, .validated = {{"mod.py", "x = 1"}}}));
  EXPECT_TRUE(fs::is_directory(fs::symlink_status(work("data"))));
  EXPECT_EQ(fs::read_symlink(work("data/big.bin")), root_ + "/in/data/big.bin");
  EXPECT_EQ(fs::read_symlink(task("data/big.bin")), root_ + "/in/data/big.bin");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(task("mod.py"))));
}

TEST_F(Input, WhatCanNotBeCopiedBecomesALink) {
  ASSERT_EQ(::mkfifo((root_ + "/in/pipe").c_str(), 0600), 0);
  ASSERT_TRUE(lay());
  EXPECT_EQ(fs::read_symlink(work("pipe")), root_ + "/in/pipe");
}

TEST_F(Input, LayingStopsWhenItIsTold) {
  write("a", "1");
  const auto laid = lay({.stop = [] { return true; }});
  ASSERT_FALSE(laid);
  EXPECT_EQ(laid.error().err, ECANCELED);
}

TEST_F(Input, FitsTheScratchLimitsOrIsRefused) {
  Policy::Limits limits;
  InputTree input;
  input.entries = {{.kind = Kind::file, .path = "a", .size = 4096}, {.kind = Kind::file, .path = "b", .size = 1}};
  EXPECT_TRUE(check_input_fits(input, limits));
  limits.scratch = 8192;
  limits.scratch_files = 2;
  EXPECT_TRUE(check_input_fits(input, limits));
  limits.scratch = 8191;
  EXPECT_THAT(check_input_fits(input, limits).error().message(), testing::HasSubstr("--input-mode link"));
  limits.scratch.reset();
  limits.scratch_files = 1;
  EXPECT_THAT(check_input_fits(input, limits).error().message(), testing::HasSubstr("limits.scratch_files (1)"));
}

TEST_F(Input, ADeepTreeIsAnErrorAndNotACrash) {
  std::string path = "d";
  for (int i = 0; i < 150; ++i) path += "/d";
  fs::create_directories(root_ + "/in/" + path);
  EXPECT_THAT(read_input_tree(root_ + "/in", "").error().message(), testing::HasSubstr("deep"));
}

}  // namespace
}  // namespace podjail
