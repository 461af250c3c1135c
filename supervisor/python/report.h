#pragma once
#include <sys/types.h>

#include "sys/fd.h"
#include "wire/wire.h"

namespace podjail::python {

/// The report pipe, and some memory kept back for what has to be said when there is none left.
class Report {
 public:
  explicit Report(Fd pipe);
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  ~Report() { release_reserve(); }

  /// Makes the reserve available (RLIMIT_DATA counts it): an uncaught MemoryError has to be printed and reported.
  void release_reserve();

  /// Best effort: the script may have closed the pipe, put another file in its place, or filled it. Waits for room at most a fifth of a
  /// second.
  void send(const wire::Ended& ended);

 private:
  Fd pipe_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  void* reserve_ = nullptr;
};

}  // namespace podjail::python
