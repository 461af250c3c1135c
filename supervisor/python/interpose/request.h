#pragma once
#include <sys/types.h>

namespace podjail::python {

// wire/runner_request.h has what is asked. Async-signal-safe, fork- and thread-safe: system calls alone. Keep errno where nothing was
// given.

/// A descriptor of a file of /proc/PID, for a path such as /proc/self/status; -1 where the path is none that podjail gives.
int open_proc_file(const char* path, bool cloexec) noexcept;

/// Tells podjail that this descriptor is of a file that the run has made in /dev/shm, so that it is counted and removed.
void claim_shared_memory(int fd) noexcept;

}  // namespace podjail::python
