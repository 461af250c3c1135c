#pragma once
#include <chrono>
#include <string>

namespace podjail {

/// CLOCK_MONOTONIC; what every duration and limit is measured by.
using Monotonic = std::chrono::steady_clock;

/// "2026-11-30T13:27:01.123456Z" of CLOCK_REALTIME (RFC 3339, UTC).
std::string utc_now();

inline double seconds_since(Monotonic::time_point start, Monotonic::time_point end = Monotonic::now()) {
  return std::chrono::duration<double>(end - start).count();
}

}  // namespace podjail
