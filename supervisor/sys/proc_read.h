#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "sys/fd.h"

namespace podjail {

/// Of /proc/PID/status. Sizes in bytes.
struct ProcStatus {
  pid_t tgid = 0, ppid = 0;
  char state = '?';
  int threads = 0;
  int seccomp_mode = 0, seccomp_filters = 0;
  bool no_new_privs = false;
  std::uint64_t cap_inheritable = 0, cap_permitted = 0, cap_effective = 0, cap_bounding = 0, cap_ambient = 0;
  std::uint64_t rss_anon = 0, rss_shmem = 0, vm_swap = 0, vm_pte = 0, vm_data = 0;
};

/// ESRCH where there is no such process. Also takes a thread's id.
Expected<ProcStatus> read_proc_status(pid_t pid);
ProcStatus parse_proc_status(std::string_view text);

/// Every process below `root` (not itself), by one pass over /proc: about 1 ms per 300 processes of the machine, and at most 100 ms,
/// whatever is missed by then.
std::vector<pid_t> descendants(pid_t root);

std::vector<pid_t> thread_ids(pid_t pid);

/// User + system CPU time of the process with its waited-for children, in nanoseconds (clock ticks are the resolution).
struct CpuTimes {
  std::uint64_t user_ns = 0, system_ns = 0;
};
Expected<CpuTimes> read_cpu_times(pid_t pid);

/// A file mapping of /proc/PID/maps. `device` as stat(2) gives it.
struct MappedFile {
  dev_t device = 0;
  ino_t inode = 0;
};
std::vector<MappedFile> parse_maps(std::string_view text);
std::vector<MappedFile> mapped_files(pid_t pid);  ///< empty where it can't be read

/// The proportional share (Pss, bytes) that a process has of shared memory without a name in /dev/shm: anonymous MAP_SHARED, memfd, SysV.
/// Of all sharers together it gives what is there, where the sum of RssShmem counts it for each. Walks the page tables: ms per GiB.
std::uint64_t parse_shared_pss(std::string_view smaps);

/// What a descriptor of a process is of, as stat(2) says it. What the kernel has of it in memory will do (AT_STATX_DONT_SYNC): a file
/// server that doesn't answer can't hold up the caller.
struct OpenFile {
  mode_t mode = 0;
  dev_t device = 0, special = 0;  ///< where it lies; which device it is
  ino_t inode = 0;
  uid_t owner = 0;
};
Expected<OpenFile> open_file_of(pid_t pid, int fd);

/// N of /dev/pts/N, where descriptor `fd` of a process is the master of that pseudo terminal (fdinfo's tty-index, Linux 4.15). fdinfo is
/// asked of nothing else: epoll's waits for a lock that the process can hold.
std::optional<unsigned> terminal_of(pid_t pid, int fd);

/// A file or folder of /proc/PID for reading. ESRCH where there is no such process.
Expected<Fd> open_proc(pid_t pid, const std::string& name);

/// A whole small file of /proc or /sys.
Expected<std::string> read_proc_file(const std::string& path);

}  // namespace podjail
