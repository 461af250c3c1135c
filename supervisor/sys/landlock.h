#pragma once
#include "sys/landlock_abi.h"

// The three system calls of Landlock. All return -1 and set errno on failure, allocate nothing and are async-signal-safe.
namespace podjail::landlock {

/// The kernel's ABI. ENOSYS: not built in, or hidden by a seccomp profile; EOPNOTSUPP: off at boot.
int abi_version() noexcept;

int create_ruleset(const RulesetAttr& attr) noexcept;  ///< a descriptor, CLOEXEC
int add_path(int ruleset, const PathBeneathAttr& rule) noexcept;
int add_port(int ruleset, const NetPortAttr& rule) noexcept;
int restrict_self(int ruleset) noexcept;  ///< needs no_new_privs

}  // namespace podjail::landlock
