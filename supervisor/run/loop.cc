#include "run/loop.h"

#include <array>
#include <cerrno>

namespace podjail {

Expected<Loop> Loop::make() {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return fail("epoll_create1", errno);
  return Loop(std::move(epoll));
}

Expected<void> Loop::add(int fd, std::uint32_t events, Handler handler) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return fail("epoll_ctl", errno);
  handlers_[fd] = std::make_shared<Handler>(std::move(handler));
  return {};
}

void Loop::remove(int fd) {
  if (handlers_.erase(fd) > 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

Expected<void> Loop::turn(Monotonic::time_point until) {
  // epoll_pwait2 takes nanoseconds (Linux 5.11); rounding up to whole milliseconds would be late, rounding down would spin.
  const auto left = until - Monotonic::now();
  timespec timeout{};
  if (left.count() > 0) {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
    timeout.tv_sec = whole.count();
    timeout.tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(left - whole).count();
  }
  std::array<epoll_event, 16> events;
  int n = ::epoll_pwait2(epoll_.get(), events.data(), static_cast<int>(events.size()), &timeout, nullptr);
  if (n < 0 && errno == ENOSYS) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), static_cast<int>(std::max<long>(ms, 0)));
  }
  if (n < 0) {
    if (errno == EINTR) return {};
    return fail("epoll_wait", errno);
  }
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const auto found = handlers_.find(event.data.fd);
    if (found == handlers_.end()) continue;  // removed by an earlier handler of this turn
    const std::shared_ptr<Handler> handler = found->second;
    (*handler)(event.events);
  }
  return {};
}

}  // namespace podjail
