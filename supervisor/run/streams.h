#pragma once
#include <cstdint>
#include <deque>
#include <string>

#include "base/sha256.h"
#include "result/result.h"
#include "sys/fd.h"

namespace podjail {

/// Takes one of the script's streams: counts and hashes all of it, keeps head and tail in memory up to `limit`, the head also at once in
/// its file.
class StreamCapture {
 public:
  /// `file` is written as the head comes in, so that a supervisor that is killed leaves it. An invalid one is left out.
  StreamCapture(std::string name, Fd file, std::uint64_t limit, std::uint64_t text_limit);

  void take(std::string_view bytes);
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// Writes the tail to the file; `error` gets what the file refused (the record goes first: it says so).
  StreamReport finish();
  [[nodiscard]] int write_error() const { return write_error_; }

 private:
  void write(std::string_view bytes);
  std::string name_;
  Fd file_;
  std::uint64_t head_limit_, tail_limit_, text_limit_;
  std::uint64_t bytes_ = 0;
  std::string head_;
  std::string tail_;  ///< a ring once it has tail_limit_ bytes
  std::size_t tail_at_ = 0;
  Sha256 hash_;
  int write_error_ = 0;
};

/// Passes bytes on to one of podjail's own streams without ever waiting for its reader: what a reader doesn't take is held up to kBacklog,
/// then left out and counted.
class LivePassage {
 public:
  static constexpr std::size_t kBacklog = 8U << 20;

  /// `fd` is not owned; -1: nowhere.
  explicit LivePassage(int fd);
  void pass(std::string_view bytes);
  void flush();  ///< writes what can be written now
  /// The poll event to wait for, while something is held back.
  [[nodiscard]] bool waiting() const { return !backlog_.empty(); }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool open_line() const { return open_line_; }  ///< the last byte was no newline

 private:
  std::size_t write_now(std::string_view bytes);
  int fd_;
  bool gone_ = false;          ///< there is no reader, or no more
  bool always_ready_ = false;  ///< a regular file
  bool open_line_ = false;
  std::string backlog_;
  std::uint64_t left_out_ = 0;
};

}  // namespace podjail
