#pragma once
#include <unistd.h>

#include <utility>

namespace podjail {

/// Owns one file descriptor; move-only, closes on destruction. 0 is a valid descriptor, so there is no conversion to bool.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }
  explicit operator bool() const = delete;

  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept {
    if (fd_ >= 0) ::close(fd_);  // EINTR closes on Linux too (close(2)), never retried
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace podjail
