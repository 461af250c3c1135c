#include "run/stdin_relay.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace podjail {

Expected<void> StdinRelay::start() {
  if (::fcntl(pipe_.get(), F_SETFL, O_NONBLOCK) != 0) return fail("fcntl(O_NONBLOCK)", errno);
  struct stat status {};
  if (::fstat(source_, &status) != 0) {
    stop();  // podjail itself was started without a stdin: the script sees an empty one
    return {};
  }
  regular_ = S_ISREG(status.st_mode);
  wait();
  return {};
}

void StdinRelay::stop() {
  if (waiting_on_pipe_) loop_.remove(*waiting_on_pipe_ ? pipe_.get() : source_);
  waiting_on_pipe_.reset();
  pipe_.reset();
}

// Waits on the pipe while a chunk is held, or where the source is a regular file (always ready, and epoll refuses it), else on the source.
void StdinRelay::wait() {
  const bool pipe = regular_ || !chunk_.empty();
  if (waiting_on_pipe_ == pipe) return;
  if (waiting_on_pipe_) loop_.remove(*waiting_on_pipe_ ? pipe_.get() : source_);
  waiting_on_pipe_ = pipe;
  if (!loop_.add(pipe ? pipe_.get() : source_, pipe ? EPOLLOUT : EPOLLIN, [this](std::uint32_t) { pump(); })) stop();
}

// One chunk a turn.
void StdinRelay::pump() {
  if (chunk_.empty()) {
    std::array<char, 65536> buffer;
    const ssize_t n = ::read(source_, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) return stop();
    chunk_.assign(buffer.data(), static_cast<std::size_t>(n));
  }
  const ssize_t n = ::write(pipe_.get(), chunk_.data(), chunk_.size());
  if (n < 0 && errno != EAGAIN && errno != EINTR) return stop();  // EPIPE: nobody reads any more
  if (n > 0) chunk_.erase(0, static_cast<std::size_t>(n));
  wait();
}

}  // namespace podjail
