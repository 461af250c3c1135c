#pragma once
#include "run/spawn.h"

namespace podjail {

/// The rest of the child's life, from fork to execve. podjail has one thread, so the heap would be usable here; the jail's steps keep away
/// from it all the same. Errors go to `status_fd` as a ChildError; never returns.
[[noreturn]] void run_child(const SpawnSpec& spec, char* const* argv, char* const* env, int status_fd, pid_t supervisor);

}  // namespace podjail
