#include "sys/clock.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace podjail {

std::string utc_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  std::array<char, 64> text;
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + length, text.size() - length, ".%06ldZ", now.tv_nsec / 1000);
  return text.data();
}

}  // namespace podjail
