#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "isolation/enter_child.h"
#include "isolation/seccomp_program.h"
#include "sys/fd.h"

namespace podjail {

/// What the child becomes. Descriptors are the caller's; each must be 10 or above, so that none is overwritten when they are laid to 0..4.
struct SpawnSpec {
  std::string path;
  std::vector<std::string> argv, env;
  std::string cwd;
  int stdin_fd = -1, stdout_fd = -1, stderr_fd = -1;
  int control_fd = -1, report_fd = -1;  ///< 3 and 4 in the child; report_fd may be -1
  EnterArgs enter;
  /// `exec`: the child installs the filters itself, reports on the control socket, waits for "go" there, then execs. nullptr: it execs at
  /// once (podjail-python does all that).
  SeccompProgram* program = nullptr;
  std::string landlock_probe;
};

struct Spawned {
  pid_t pid = 0;
  Fd pidfd;
  Fd status;  ///< readable once the child failed (a ChildError) or exec'd (end of file)
};

Expected<Spawned> spawn(const SpawnSpec& spec);

/// Reads what the child left on `status`; blocks until it exec'd, failed or ended. The pointer in it is valid here, as the child is a fork
/// of this process.
ChildError read_child_error(int status);

}  // namespace podjail
