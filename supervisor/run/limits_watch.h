#pragma once
#include <optional>

#include "policy/policy.h"
#include "run/ending.h"
#include "sys/clock.h"
#include "sys/files.h"

namespace podjail {

/// The limits that no rlimit and no single event holds: looked at from time to time. Pure, but for measure_scratch.
std::optional<Cause> over_memory(const Policy::Limits& limits, std::uint64_t bytes);
std::optional<Cause> over_cpu(const Policy::Limits& limits, double seconds);
/// For where clones don't come to the supervisor one by one.
std::optional<Cause> over_tasks(const Policy::Limits& limits, std::uint64_t processes, std::uint64_t threads);
std::optional<Cause> over_scratch(const Policy::Limits& limits, const TreeSize& size);

/// How long until the next look: as long as memory, filled at 8 GiB/s, or CPU time, used on all `cpus`, could not pass a limit; 5 to 100
/// ms.
std::chrono::milliseconds next_look(const Policy::Limits& limits, std::uint64_t memory, double cpu_seconds, int cpus);

/// For what is slow (the scratch folder is walked, page tables are): at most a twentieth of the time goes into it, and no more than 20
/// looks a second.
Monotonic::time_point next_slow_look(Monotonic::time_point started, Monotonic::time_point ended);

/// Stops counting a little beyond the limits.
TreeSize measure_scratch(int data_folder, const Policy::Limits& limits, bool at_the_end);

}  // namespace podjail
