#include "run/streams.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "sys/files.h"

namespace podjail {
namespace {

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// Takes away a code point that a cut left incomplete at the end, so that the cut never shows as U+FFFD.
void trim_cut_end(std::string& text) {
  std::size_t back = 1;
  while (back < 4 && back < text.size() && is_continuation(text[text.size() - back])) ++back;
  if (text.size() < back) return;
  const auto lead = static_cast<unsigned char>(text[text.size() - back]);
  const std::size_t whole = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
  if (whole > back) text.resize(text.size() - back);
}

void trim_cut_start(std::string& text) {
  std::size_t front = 0;
  while (front < 3 && front < text.size() && is_continuation(text[front])) ++front;
  text.erase(0, front);
}

}  // namespace

StreamCapture::StreamCapture(std::string name, Fd file, std::uint64_t limit, std::uint64_t text_limit)
    : name_(std::move(name)), file_(std::move(file)), head_limit_(limit - limit / 2), tail_limit_(limit / 2), text_limit_(text_limit) {}

void StreamCapture::write(std::string_view bytes) {
  if (!file_.valid() || write_error_ != 0 || bytes.empty()) return;
  if (auto written = write_all(file_.get(), bytes); !written) write_error_ = written.error().err;
}

void StreamCapture::take(std::string_view bytes) {
  bytes_ += bytes.size();
  hash_.update(bytes);
  if (head_.size() < head_limit_) {
    const std::string_view part = bytes.substr(0, static_cast<std::size_t>(head_limit_ - head_.size()));
    head_ += part;
    write(part);
    bytes.remove_prefix(part.size());
  }
  if (bytes.size() >= tail_limit_) {
    tail_.assign(bytes.substr(bytes.size() - static_cast<std::size_t>(tail_limit_)));
    tail_at_ = 0;
    return;
  }
  if (tail_.size() < tail_limit_) {
    const std::string_view part = bytes.substr(0, static_cast<std::size_t>(tail_limit_) - tail_.size());
    tail_ += part;
    bytes.remove_prefix(part.size());
  }
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), tail_.size() - tail_at_);
    std::copy_n(bytes.data(), n, tail_.data() + tail_at_);
    tail_at_ = (tail_at_ + n) % tail_.size();
    bytes.remove_prefix(n);
  }
}

StreamReport StreamCapture::finish() {
  std::rotate(tail_.begin(), tail_.begin() + static_cast<std::ptrdiff_t>(tail_at_), tail_.end());
  tail_at_ = 0;
  StreamReport report;
  report.file = name_;
  report.bytes = bytes_;
  report.kept = head_.size() + tail_.size();
  const std::uint64_t dropped = report.bytes - report.kept;
  if (dropped > 0) write("\n[podjail: " + std::to_string(dropped) + " bytes left out here]\n");
  write(tail_);
  if (file_.valid()) (void)!::fchmod(file_.get(), 0644);  // a script of the same UID could have changed it
  file_.reset();
  report.sha256 = hash_.hex_digest();
  report.head = head_;
  if (dropped == 0) {
    report.head += tail_;
  } else {
    report.tail = tail_.substr(tail_.size() - std::min<std::size_t>(tail_.size(), static_cast<std::size_t>(text_limit_)));
    trim_cut_start(report.tail);
  }
  if (report.head.size() > text_limit_) report.head.resize(static_cast<std::size_t>(text_limit_));
  if (report.head.size() < report.bytes) trim_cut_end(report.head);
  return report;
}

LivePassage::LivePassage(int fd) : fd_(fd) {
  struct stat status {};
  gone_ = fd_ < 0 || ::fstat(fd_, &status) != 0;
  always_ready_ = !gone_ && S_ISREG(status.st_mode);
}

// O_NONBLOCK is a property of the open file that podjail shares with whoever started it, so it must not be set. poll(2) says when a pipe
// takes PIPE_BUF bytes at once (pipe(7)).
std::size_t LivePassage::write_now(std::string_view bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    std::size_t chunk = bytes.size() - written;
    if (!always_ready_) {
      pollfd ready{fd_, POLLOUT, 0};
      if (::poll(&ready, 1, 0) <= 0) break;
      chunk = std::min<std::size_t>(chunk, PIPE_BUF);
    }
    const ssize_t n = ::write(fd_, bytes.data() + written, chunk);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN) {  // the reader went away: nothing more to pass on
        gone_ = true;
        return bytes.size();
      }
      break;
    }
    written += static_cast<std::size_t>(n);
  }
  return written;
}

void LivePassage::pass(std::string_view bytes) {
  if (gone_ || bytes.empty()) return;
  open_line_ = bytes.back() != '\n';
  flush();
  if (backlog_.empty()) bytes.remove_prefix(write_now(bytes));
  const std::size_t room = kBacklog - std::min(kBacklog, backlog_.size());
  backlog_ += bytes.substr(0, room);
  if (bytes.size() > room) left_out_ += bytes.size() - room;
}

void LivePassage::flush() {
  if (backlog_.empty()) return;
  backlog_.erase(0, gone_ ? backlog_.size() : write_now(backlog_));
}

}  // namespace podjail
