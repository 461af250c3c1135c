#pragma once
#include <array>
#include <cstdint>
#include <string_view>

// What a process of the run can ask podjail for after "go": by options of prctl(2) that the kernel doesn't know (EINVAL), that the filters
// bring to the supervisor, and that leave all that matters in registers. A pod's own seccomp profile must let the call through, which
// RuntimeDefault does for prctl, whatever its option.
//
//   prctl(kOpenProcFile, FILE, PID, TID, CLOEXEC)  FILE: index into kProcFiles; PID: a process of the run, 0: the caller's own; TID: a
//   thread
//                                                  of it, 0: the process. -> a descriptor that can be read
//   prctl(kClaimSharedMemory, FD)                  FD: the caller's own, of a file that it has made in /dev/shm. -> 0
namespace podjail::wire {

inline constexpr std::uint32_t kOpenProcFile = 0x706a0001, kClaimSharedMemory = 0x706a0002;

/// Of /proc/PID: what a process may read of itself and of the others of its run. Landlock grants it to the first process alone, as a rule
/// stands for a folder that exists when the jail is entered.
inline constexpr auto kProcFiles = std::to_array<std::string_view>({
    ".",
    "auxv",
    "cgroup",
    "children",
    "cmdline",
    "comm",
    "coredump_filter",
    "cpuset",
    "environ",
    "fd",
    "fdinfo",
    "gid_map",
    "io",
    "limits",
    "maps",
    "mountinfo",
    "mounts",
    "mountstats",
    "net/dev",
    "net/if_inet6",
    "net/tcp",
    "net/tcp6",
    "net/route",
    "net/udp",
    "net/udp6",
    "net/unix",
    "numa_maps",
    "oom_score",
    "oom_score_adj",
    "sched",
    "schedstat",
    "smaps",
    "smaps_rollup",
    "stat",
    "statm",
    "status",
    "task",
    "uid_map",
    "wchan",
});

}  // namespace podjail::wire
