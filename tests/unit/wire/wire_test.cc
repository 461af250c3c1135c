#include "wire/wire.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace podjail::wire {
namespace {

using std::string_literals::operator""s;

struct Sockets {
  Fd ours, theirs;
  Sockets() {
    int fds[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    ours = Fd(fds[0]);
    theirs = Fd(fds[1]);
  }
};

TEST(Wire, EveryMessageComesBackAsItWasSent) {
  Job job;
  job.mode = Job::Mode::check;
  job.name = "é\n\"job\".py";
  job.function = "handler";
  job.allow_imports = std::vector<std::string>{"math"};
  job.rules = {{"PJ101", "warn"}};
  job.max_script = UINT64_MAX;
  const auto back = decode_job(encode(job));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->mode, Job::Mode::check);
  EXPECT_EQ(back->name, job.name);
  EXPECT_EQ(back->function, job.function);
  EXPECT_EQ(back->allow_imports, job.allow_imports);
  EXPECT_EQ(back->rules, job.rules);
  EXPECT_EQ(back->max_script, UINT64_MAX);

  Confine confine;
  confine.guard = {{1, 2, 3, 4}};
  confine.allow_list = {{5, 6, 7, 8}, {9, 10, 11, 12}};
  confine.listener = true;
  confine.landlock_probe = "/out/stdout.log";
  const auto programs = decode_confine(encode(confine));
  ASSERT_TRUE(programs);
  EXPECT_TRUE(programs->listener);
  ASSERT_EQ(programs->allow_list.size(), 2U);
  EXPECT_EQ(programs->allow_list[1].k, 12U);
  EXPECT_TRUE(programs->fallback.empty());
  EXPECT_EQ(programs->landlock_probe, "/out/stdout.log");

  Ended ended;
  ended.exception = ExceptionClaim{"ValueError", "bad", "Traceback…", 3};
  ended.exit_argument = "123456789012345678901234567890";
  const auto claim = decode_ended(encode(ended), 100);
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->exception->line, 3);
  EXPECT_EQ(claim->exit_argument, ended.exit_argument);
  EXPECT_FALSE(claim->return_value);
}

TEST(Wire, WhatIsNoMessageIsRefusedAndNamed) {
  EXPECT_FALSE(decode_verdict("not json"));
  EXPECT_FALSE(decode_verdict("[]"));
  EXPECT_FALSE(decode_hello("{\"python_version\": \"\", \"error\": \"\"}\0junk"s));
  EXPECT_FALSE(decode_verdict(R"({"verdict": "perhaps", "reason": "", "message": "", "findings": []})"));
  const auto wrong = decode_hello(R"({"python_version": 3, "error": ""})");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("python_version"), std::string::npos);
  EXPECT_FALSE(decode_ended(std::string(100000, '['), 100));
  EXPECT_FALSE(decode_confine("short"));
  std::string lying = encode(Confine{});
  lying[4] = '\xff';  // a count beyond the message
  lying[5] = '\xff';
  EXPECT_FALSE(decode_confine(lying));
}

TEST(Wire, AClaimedValueIsBoundedInSizeAndDepth) {
  const auto value = [](const std::string& text, std::size_t limit) {
    Ended ended;
    ended.return_value = text;
    return decode_ended(encode(ended), limit).value().return_value;
  };
  EXPECT_EQ(value("[1.5]", 5), "[1.5]");
  EXPECT_FALSE(value("[1.5]", 4));
  EXPECT_TRUE(value(std::string(200, '[') + std::string(200, ']'), 1000));
  EXPECT_FALSE(value(std::string(201, '[') + std::string(201, ']'), 1000));
  EXPECT_FALSE(value(std::string(500000, '['), 1 << 20));
  Ended notes;
  notes.return_notes.resize(300000);
  EXPECT_FALSE(decode_ended(encode(notes), 100));
}

TEST(Wire, ReaderTakesFramesInAnyPieces) {
  Sockets s;
  ASSERT_TRUE(send_frame(s.theirs.get(), Type::hello, "abc"));
  ASSERT_TRUE(send_frame(s.theirs.get(), Type::go, ""));
  FrameReader reader(1024, 1);
  Frame frame;
  ASSERT_EQ(reader.read(s.ours.get(), frame).value(), FrameReader::State::frame);
  EXPECT_EQ(frame.payload, "abc");
  ASSERT_EQ(reader.read(s.ours.get(), frame).value(), FrameReader::State::frame);
  EXPECT_EQ(frame.type, Type::go);
  EXPECT_EQ(reader.read(s.ours.get(), frame).value(), FrameReader::State::more);
  const std::uint32_t header[] = {1, 4};
  ASSERT_EQ(::write(s.theirs.get(), header, 6), 6);
  EXPECT_EQ(reader.read(s.ours.get(), frame).value(), FrameReader::State::more);
  s.theirs.reset();
  EXPECT_EQ(reader.read(s.ours.get(), frame).value(), FrameReader::State::end);
}

TEST(Wire, ReaderRefusesAFrameThatIsTooLong) {
  Sockets s;
  const std::uint32_t header[] = {8, 0xffffffff};  // u16 type, u16 descriptors, u32 length
  ASSERT_EQ(::write(s.theirs.get(), header, sizeof header), static_cast<ssize_t>(sizeof header));
  FrameReader reader(1024, 0);
  Frame frame;
  EXPECT_FALSE(reader.read(s.ours.get(), frame));
}

TEST(Wire, DescriptorsStayWithTheirFrame) {
  Sockets s;
  const int one[] = {STDIN_FILENO};
  ASSERT_TRUE(send_frame(s.theirs.get(), Type::hello, "a"));
  ASSERT_TRUE(send_frame(s.theirs.get(), Type::confined, "b", one));
  ASSERT_TRUE(send_frame(s.theirs.get(), Type::verdict, "c"));
  FrameReader reader(1024, 1);
  for (const std::size_t fds : {0U, 1U, 0U}) {
    Frame frame;
    ASSERT_EQ(reader.read(s.ours.get(), frame).value(), FrameReader::State::frame);
    EXPECT_EQ(frame.fds.size(), fds);
  }
}

TEST(Wire, ReaderTakesOneDescriptorAndNoMore) {
  Sockets s;
  const int one[] = {STDIN_FILENO};
  ASSERT_TRUE(send_frame(s.theirs.get(), Type::confined, "{}", one));
  FrameReader reader(1024, 1);
  Frame frame;
  ASSERT_EQ(reader.read(s.ours.get(), frame).value(), FrameReader::State::frame);
  ASSERT_EQ(frame.fds.size(), 1U);
  EXPECT_EQ(::fcntl(frame.fds[0].get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  ASSERT_TRUE(send_frame(s.theirs.get(), Type::confined, "{}", one));
  EXPECT_FALSE(reader.read(s.ours.get(), frame));

  Sockets t;
  const int three[] = {STDIN_FILENO, STDIN_FILENO, STDIN_FILENO};
  ASSERT_TRUE(send_frame(t.theirs.get(), Type::confined, "{}", three));
  FrameReader strict(1024, 1);
  EXPECT_FALSE(strict.read(t.ours.get(), frame));
}

TEST(Wire, SendingToAClosedPeerIsAnErrorAndNoSignal) {
  Sockets s;
  s.ours.reset();
  const auto sent = send_frame(s.theirs.get(), Type::go, "");
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().err, EPIPE);
}

}  // namespace
}  // namespace podjail::wire
