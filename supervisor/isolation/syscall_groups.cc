#include "isolation/syscall_groups.h"

namespace podjail {
namespace {

constexpr const char* kEvents[] = {"epoll_create", "epoll_create1", "epoll_ctl",      "epoll_pwait",     "epoll_pwait2",   "epoll_wait",
                                   "eventfd",      "eventfd2",      "poll",           "ppoll",           "pselect6",       "select",
                                   "signalfd",     "signalfd4",     "timerfd_create", "timerfd_gettime", "timerfd_settime"};

constexpr const char* kFileData[] = {"cachestat", "close",     "close_range", "copy_file_range", "dup",      "dup2",      "dup3",
                                     "fadvise64", "fallocate", "fdatasync",   "flock",           "fsync",    "ftruncate", "lseek",
                                     "pipe",      "pipe2",     "pread64",     "preadv",          "preadv2",  "pwrite64",  "pwritev",
                                     "pwritev2",  "read",      "readahead",   "readv",           "sendfile", "splice",    "sync_file_range",
                                     "tee",       "write",     "writev"};

constexpr const char* kFileMetadata[] = {
    "access",     "chown",     "faccessat",  "faccessat2", "fchown", "fchownat",  "fgetxattr", "file_getattr", "flistxattr", "fstat",
    "fstatfs",    "futimesat", "getxattr",   "getxattrat", "lchown", "lgetxattr", "listxattr", "listxattrat",  "llistxattr", "lstat",
    "newfstatat", "readlink",  "readlinkat", "stat",       "statfs", "statx",     "umask",     "utime",        "utimensat",  "utimes"};

constexpr const char* kFileNames[] = {"chdir",    "creat", "fchdir",  "getcwd",    "getdents", "getdents64", "link",
                                      "linkat",   "mkdir", "mkdirat", "open",      "openat",   "openat2",    "rename",
                                      "renameat", "rmdir", "symlink", "symlinkat", "truncate", "unlink",     "unlinkat"};

constexpr const char* kIdentity[] = {"capget",  "getegid",   "geteuid",   "getgid", "getgroups", "getpgid", "getpgrp", "getpid",
                                     "getppid", "getresgid", "getresuid", "getsid", "gettid",    "getuid",  "setpgid", "setsid"};

constexpr const char* kIdentityChange[] = {"capset",    "setfsgid",  "setfsuid", "setgid", "setregid",
                                           "setresgid", "setresuid", "setreuid", "setuid"};

constexpr const char* kLandlock[] = {"landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self"};

constexpr const char* kMemory[] = {"brk",        "get_mempolicy", "madvise",    "membarrier", "mincore",      "mlock", "mlock2",
                                   "mlockall",   "mmap",          "mprotect",   "mremap",     "mseal",        "msync", "munlock",
                                   "munlockall", "munmap",        "pkey_alloc", "pkey_free",  "pkey_mprotect"};

constexpr const char* kFileWatching[] = {"inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch"};

constexpr const char* kMemoryFiles[] = {"memfd_create"};

constexpr const char* kProcessEnd[] = {"exit", "exit_group", "restart_syscall", "wait4", "waitid"};

constexpr const char* kSchedulerQuery[] = {"getcpu",
                                           "getpriority",
                                           "ioprio_get",
                                           "sched_get_priority_max",
                                           "sched_get_priority_min",
                                           "sched_getaffinity",
                                           "sched_getattr",
                                           "sched_getparam",
                                           "sched_getscheduler",
                                           "sched_rr_get_interval",
                                           "sched_yield"};

constexpr const char* kShadowStack[] = {"map_shadow_stack"};

constexpr const char* kSignalHandling[] = {"pause",        "rt_sigaction",  "rt_sigpending",   "rt_sigprocmask",
                                           "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "sigaltstack"};

constexpr const char* kSocketData[] = {"getpeername", "getsockname", "getsockopt", "recvfrom", "recvmmsg", "recvmsg", "shutdown"};

constexpr const char* kSystemQuery[] = {"getrandom", "getrlimit", "getrusage", "setrlimit", "sysinfo", "times", "uname"};

constexpr const char* kThreads[] = {"futex",      "futex_requeue", "futex_wait",      "futex_waitv",
                                    "futex_wake", "rseq",          "set_robust_list", "set_tid_address"};

constexpr const char* kTime[] = {"alarm",         "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer",    "gettimeofday",
                                 "nanosleep",     "setitimer",    "time",          "timer_create",    "timer_delete", "timer_getoverrun",
                                 "timer_gettime", "timer_settime"};

constexpr SyscallGroup kGroups[] = {
    {"events", "waiting for descriptors, timers and signals of its own", in_both, kEvents},
    {"file_data", "reading and writing what is open already", in_both, kFileData},
    {"file_metadata", "asking; and mode, owner and times, which Landlock doesn't mediate: the supervisor restores what matters to it",
     in_both, kFileMetadata},
    {"file_names", "opening, making and removing by name: Landlock decides where", in_both, kFileNames},
    {"file_watching", "names of files come and go in folders that Landlock keeps closed; build tools need it, scripts don't", in_exec,
     kFileWatching},
    {"identity", "asking who it is; sessions and groups within its own session", in_both, kIdentity},
    {"identity_change",
     "becoming who it is already, and dropping what it doesn't have; without capabilities the kernel refuses every change", in_both,
     kIdentityChange},
    {"landlock", "restricting itself further; each rule is kernel memory that no limit counts", in_exec, kLandlock},
    {"memory", "its own address space", in_both, kMemory},
    {"memory_files",
     "memfd: it escapes RLIMIT_DATA, and what is executed from it escapes Landlock, so only where programs may be executed anyway", in_exec,
     kMemoryFiles},
    {"process_end", "ending, and waiting for its own children", in_both, kProcessEnd},
    {"scheduler_query", "asking; changing is restricted to its own tree", in_both, kSchedulerQuery},
    {"shadow_stack", "user shadow stacks of newer libcs, which set them up at program start", in_exec, kShadowStack},
    {"signal_handling", "its own handlers, masks and stacks; sending is restricted", in_both, kSignalHandling},
    {"socket_data", "on sockets that it has; making one, options and sending are restricted", in_both, kSocketData},
    {"system_query", "asking for limits, load and names; lowering its own limits", in_both, kSystemQuery},
    {"threads", "locks and per-thread set-up; making one is clone", in_both, kThreads},
    {"time", "clocks to read, timers of its own", in_both, kTime},
};

}  // namespace

std::span<const SyscallGroup> syscall_groups() {
  return kGroups;
}

}  // namespace podjail
