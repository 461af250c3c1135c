#include "run/limits_watch.h"

#include <algorithm>

#include "base/units.h"

namespace podjail {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kShortest = 5, kLongest = 100;  // ms
constexpr std::uint64_t kFillPerMs = 8U << 20;         // bytes; one core fills fresh huge pages at 3 to 4 GiB/s, and there may be two
constexpr std::uint64_t kFolders = 5;                  // data/'s own entries, which the script didn't make
constexpr std::uint64_t kFolderBytes = kFolders * 4096;

}  // namespace

std::optional<Cause> over_memory(const Policy::Limits& limits, std::uint64_t bytes) {
  if (!limits.memory || bytes <= *limits.memory) return std::nullopt;
  return Cause{Status::memory_exceeded, "limits.memory", "used more than limits.memory (" + format_bytes(*limits.memory) + ")", true};
}

std::optional<Cause> over_cpu(const Policy::Limits& limits, double seconds) {
  if (!limits.cpu || seconds <= static_cast<double>(limits.cpu->count()) / 1000) return std::nullopt;
  return Cause{Status::cpu_exceeded, "limits.cpu", "used more than limits.cpu (" + format_duration(*limits.cpu) + ") of CPU time", true};
}

std::optional<Cause> over_tasks(const Policy::Limits& limits, std::uint64_t processes, std::uint64_t threads) {
  const auto cause = [](const char* limit, std::uint64_t value) {
    return Cause{Status::processes_exceeded, limit, std::string("more than ") + limit + " (" + std::to_string(value) + ") at a time", true};
  };
  if (limits.processes && processes > *limits.processes) return cause("limits.processes", *limits.processes);
  if (limits.threads && threads > *limits.threads) return cause("limits.threads", *limits.threads);
  return std::nullopt;
}

std::optional<Cause> over_scratch(const Policy::Limits& limits, const TreeSize& size) {
  if (limits.scratch && size.bytes > *limits.scratch + kFolderBytes) {
    return Cause{Status::disk_exceeded, "limits.scratch",
                 "wrote more than limits.scratch (" + format_bytes(*limits.scratch) + ") to its folders", true};
  }
  if (limits.scratch_files && size.files > *limits.scratch_files + kFolders) {
    return Cause{Status::disk_exceeded, "limits.scratch_files",
                 "made more than limits.scratch_files (" + std::to_string(*limits.scratch_files) + ") files", true};
  }
  if (size.too_deep && (limits.scratch || limits.scratch_files)) {
    return Cause{Status::disk_exceeded, "limits.scratch_files",
                 "made folders more than 128 deep, which can't be counted under limits.scratch_files", true};
  }
  return std::nullopt;
}

milliseconds next_look(const Policy::Limits& limits, std::uint64_t memory, double cpu_seconds, int cpus) {
  std::int64_t wait = kLongest;
  if (limits.memory) wait = std::min(wait, static_cast<std::int64_t>((*limits.memory - std::min(memory, *limits.memory)) / kFillPerMs));
  if (limits.cpu) {
    const double left = static_cast<double>(limits.cpu->count()) - cpu_seconds * 1000;
    wait = std::min(wait, static_cast<std::int64_t>(left / std::max(cpus, 1)) + 1);
  }
  return milliseconds(std::clamp(wait, kShortest, kLongest));
}

Monotonic::time_point next_slow_look(Monotonic::time_point started, Monotonic::time_point ended) {
  return ended + std::max<Monotonic::duration>(20 * (ended - started), milliseconds(50));
}

TreeSize measure_scratch(int data_folder, const Policy::Limits& limits, bool at_the_end) {
  const auto bound = [](const std::optional<std::uint64_t>& limit) { return limit ? *limit + (1U << 20) : UINT64_MAX; };
  return measure_tree(data_folder, bound(limits.scratch), bound(limits.scratch_files), at_the_end);
}

}  // namespace podjail
