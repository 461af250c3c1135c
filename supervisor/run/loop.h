#pragma once
#include <sys/epoll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "sys/clock.h"
#include "sys/fd.h"

namespace podjail {

/// A single-threaded epoll loop. No handler may wait. Handlers may add and remove sources, their own too.
class Loop {
 public:
  using Handler = std::function<void(std::uint32_t events)>;

  static Expected<Loop> make();
  Loop(Loop&&) = default;
  Loop& operator=(Loop&&) = default;

  /// Level-triggered. `fd` stays the caller's and must be removed before it is closed. EPERM: a regular file, always ready.
  Expected<void> add(int fd, std::uint32_t events, Handler handler);
  void remove(int fd);

  /// Waits until something is ready or `until` has come, and calls the handlers of one turn.
  Expected<void> turn(Monotonic::time_point until);

 private:
  explicit Loop(Fd epoll) : epoll_(std::move(epoll)) {}
  Fd epoll_;
  // shared_ptr: a handler that removes itself must outlive its own call.
  std::unordered_map<int, std::shared_ptr<Handler>> handlers_;
};

}  // namespace podjail
