#include "python/report.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <new>

namespace podjail::python {

// CPython's allocator takes 1 MiB at a time; printing and encoding need less than the rest.
static constexpr std::size_t kReserve = 3U << 20;

Report::Report(Fd pipe) : pipe_(std::move(pipe)) {
  struct stat status {};
  if (::fstat(pipe_.get(), &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  reserve_ = ::mmap(nullptr, kReserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserve_ == MAP_FAILED) reserve_ = nullptr;
}

void Report::release_reserve() {
  if (reserve_ != nullptr) ::munmap(reserve_, kReserve);
  reserve_ = nullptr;
}

void Report::send(const wire::Ended& ended) {
  struct stat status {};
  if (::fstat(pipe_.get(), &status) != 0 || status.st_dev != device_ || status.st_ino != inode_) {
    (void)pipe_.release();  // not ours any more
    return;
  }
  constexpr int kWaitMs = 200;
  pollfd ready{pipe_.get(), POLLOUT, 0};
  if (::poll(&ready, 1, kWaitMs) != 1 || (ready.revents & POLLOUT) == 0) return;
  release_reserve();
  try {
    (void)wire::write_frame(pipe_.get(), wire::Type::ended, wire::encode(ended));
  } catch (const std::bad_alloc&) {
    // Too little memory for the details; the supervisor sees an end without a report.
  }
}

}  // namespace podjail::python
