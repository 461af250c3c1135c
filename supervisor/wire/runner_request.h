#pragma once
#include <array>
#include <cstdint>
#include <string_view>

// What a process of the run can ask podjail for after "go": by a call that the filters refuse and so bring to the supervisor, with all that
// matters in registers. The kernel itself, where the policy opens the call, answers EINVAL to these flags (pidfd_getfd(2)).
//
//   pidfd_getfd(-1, FILE, kOpenProcFile, PID, TID, CLOEXEC)  FILE: index into kProcFiles; PID: a process of the run, 0: the caller's own;
//                                                            TID: a thread of it, 0: the process. -> a descriptor that can be read
//   pidfd_getfd(-1, FD, kClaimSharedMemory)                  FD: the caller's own, of a file that it has made in /dev/shm. -> 0
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
