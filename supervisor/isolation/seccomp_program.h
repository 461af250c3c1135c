#pragma once
#include <linux/filter.h>
#include <sys/types.h>

#include <vector>

#include "base/error.h"
#include "isolation/plan.h"

namespace podjail {

/// Two BPF programs, loaded in this order. The constant kOwnPid in them stands for the confined process's own PID: seccomp_child.h puts it
/// in.
struct SeccompProgram {
  std::vector<sock_filter>
      guard;  ///< default allow; refuses what must hold whatever policy.syscalls.allow says. Its denials are plain errnos
  std::vector<sock_filter> allow_list;  ///< owns the listener, when there is one
  std::vector<sock_filter>
      fallback;  ///< the allow-list with plain errnos, for where a listener can't be had after all; empty without `listener`
  bool listener = false;
};

/// A PID no process has (above the kernel's PID_MAX_LIMIT of 2^22, so no real target is ever taken for it).
inline constexpr std::uint32_t kOwnPid = 0x50000001;

/// Whether this kernel interface has calls of these names. Errors: the first that it hasn't, with the near miss.
Expected<void> check_syscall_names(const Policy::Syscalls& syscalls);

/// By libseccomp (binary tree): at build time for the plans that most runs have, else now, in 1.7 ms. Errors: an unknown syscall name in
/// the policy (with the near miss), libseccomp's own.
Expected<SeccompProgram> compile_seccomp(const SeccompPlan& plan, pid_t supervisor);

}  // namespace podjail
