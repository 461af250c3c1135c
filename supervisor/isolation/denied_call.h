#pragma once
#include <linux/seccomp.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "isolation/plan.h"

namespace podjail {

/// What to do with one call that came by user notification. Pure.
struct CallDecision {
  enum class Kind {
    deny,         ///< answer `err`, record
    new_process,  ///< clone/fork/vfork without CLONE_THREAD: the supervisor counts, then CONTINUE or `err`
    new_thread,   ///< clone with CLONE_THREAD: likewise
    target,       ///< CONTINUE if `target` (a PID, TID or, with `group`, a process group, in a register) belongs to the tree, else deny
                  ///< with ESRCH where there is none, with `err` where it is another's
    proc_file,    ///< wire::kOpenProcFile: give the descriptor of `file` of `target` (0: the caller itself), if it belongs to the tree
    terminal,     ///< TIOCGPTPEER: give the other end of the pseudo terminal that the caller has as descriptor `file`
    claim,        ///< wire::kClaimSharedMemory: note the caller's descriptor `file`, answer 0
  } kind = Kind::deny;
  int err = 0;
  pid_t target = 0, thread = 0;
  std::uint32_t file = 0;
  bool group = false;
  bool cloexec = false;
  bool nonblock = false;
  std::string what;    ///< the kernel's name of the call: "socket"; "syscall_463" where there is none
  std::string detail;  ///< salient arguments: "AF_INET, SOCK_STREAM", "pid 1, SIGTERM"; may be empty
};

CallDecision decide_call(const seccomp_data& call, const SeccompPlan& plan);

}  // namespace podjail
