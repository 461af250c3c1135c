#include "run/streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>

#include "base/utf8.h"
#include "sys/files.h"

namespace podjail {
namespace {

struct Captured {
  StreamReport report;
  std::string file;
};

// In pieces of every size that matters: one byte, and more than the limit at once.
Captured capture(const std::string& bytes, std::uint64_t limit, std::uint64_t text_limit, std::size_t piece) {
  Fd memory(::memfd_create("stream", MFD_CLOEXEC));
  const int duplicate = ::dup(memory.get());
  StreamCapture stream("stdout.log", std::move(memory), limit, text_limit);
  for (std::size_t at = 0; at < bytes.size(); at += piece) stream.take(std::string_view(bytes).substr(at, piece));
  Captured result{stream.finish(), {}};
  EXPECT_EQ(::lseek(duplicate, 0, SEEK_SET), 0);
  const Fd reader(duplicate);
  result.file = read_all(reader.get(), 1 << 20).value();
  return result;
}

class StreamCaptureSizes : public testing::TestWithParam<std::size_t> {};

TEST_P(StreamCaptureSizes, KeepsHeadAndTailAndCountsAndHashesAll) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += std::to_string(i) + "\n";
  const Captured whole = capture(bytes, 10000, 100000, GetParam());
  EXPECT_EQ(whole.report.bytes, bytes.size());
  EXPECT_EQ(whole.report.kept, bytes.size());
  EXPECT_EQ(whole.report.head, bytes);
  EXPECT_EQ(whole.report.tail, "");
  EXPECT_EQ(whole.file, bytes);
  EXPECT_EQ(whole.report.sha256, sha256_hex(bytes));

  const Captured cut = capture(bytes, 101, 100000, GetParam());
  EXPECT_EQ(cut.report.bytes, bytes.size());
  EXPECT_EQ(cut.report.kept, 101U);
  EXPECT_EQ(cut.report.head, bytes.substr(0, 51));
  EXPECT_EQ(cut.report.tail, bytes.substr(bytes.size() - 50));
  EXPECT_EQ(cut.report.sha256, sha256_hex(bytes));
  EXPECT_TRUE(cut.file.starts_with(bytes.substr(0, 51) + "\n[podjail: "));
  EXPECT_TRUE(cut.file.ends_with(bytes.substr(bytes.size() - 50)));
}

TEST_P(StreamCaptureSizes, ACutNeverLeavesHalfACodePoint) {
  std::string bytes;
  for (int i = 0; i < 500; ++i) bytes += "é€😀";
  for (std::uint64_t limit = 90; limit < 110; ++limit) {
    const Captured cut = capture(bytes, limit, 1000, GetParam());
    EXPECT_FALSE(find_invalid_utf8(cut.report.head)) << limit;
    EXPECT_FALSE(find_invalid_utf8(cut.report.tail)) << limit;
    EXPECT_LE(cut.report.head.size() + cut.report.tail.size(), limit);
  }
}

TEST_P(StreamCaptureSizes, TheTextIsBoundedByItself) {
  const Captured cut = capture(std::string(5000, 'x') + "end", 10000, 16, GetParam());
  EXPECT_EQ(cut.report.head, std::string(16, 'x'));
  EXPECT_EQ(cut.report.kept, 5003U);
  EXPECT_EQ(cut.file.size(), 5003U);
}

TEST_P(StreamCaptureSizes, NothingIsKeptUnderALimitOfOne) {
  const Captured cut = capture("abcdef", 1, 16, GetParam());
  EXPECT_EQ(cut.report.head, "a");
  EXPECT_EQ(cut.report.tail, "");
  EXPECT_EQ(cut.report.bytes, 6U);
}

INSTANTIATE_TEST_SUITE_P(Pieces, StreamCaptureSizes, testing::Values(1, 7, 64, 100000));

TEST(LivePassage, AStalledReaderLosesWhatIsBeyondTheBacklogAndNobodyWaits) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]), writer(ends[1]);
  LivePassage live(writer.get());
  const std::string chunk(1 << 20, 'x');
  for (int i = 0; i < 12; ++i) live.pass(chunk);  // would block for ever if it waited
  EXPECT_TRUE(live.waiting());
  EXPECT_GT(live.left_out(), 0U);
  EXPECT_LE(live.left_out(), 4U << 20);
}

TEST(LivePassage, AReaderThatWentAwayIsNoError) {
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  { const Fd reader(ends[0]); }
  const Fd writer(ends[1]);
  LivePassage live(writer.get());
  live.pass("text");
  EXPECT_FALSE(live.waiting());
  EXPECT_EQ(live.fd(), writer.get());  // the loop may have it registered: it is removed by this number
  live.pass("more");
}

}  // namespace
}  // namespace podjail
