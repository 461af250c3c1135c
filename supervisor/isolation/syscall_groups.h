#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isolation/plan.h"

namespace podjail {

/// Which bases of `syscalls.base` hold an entry; bits.
enum Bases : unsigned { in_python = 1, in_exec = 2, in_both = 3 };

/// Calls that are allowed whatever their arguments.
struct SyscallGroup {
  std::string_view name;
  std::string_view why;
  Bases bases;
  std::span<const char* const> members;  ///< kernel names
};

/// The table, sorted by name. What is in no group and no restricted call is denied: EPERM, or ENOSYS where it has no name here.
std::span<const SyscallGroup> syscall_groups();

/// `arguments[index] & mask == value`, of the low 32 bits: the kernel itself takes only those of an int, so a comparison of all 64 could be
/// bypassed by setting the others.
struct ArgMatch {
  unsigned index;
  std::uint32_t mask, value;
};

/// All of the matches hold. Empty: always true.
using CallRule = std::vector<ArgMatch>;

/// A call that depends on its arguments.
struct RestrictedCall {
  const char* name;
  std::vector<CallRule> (*allowed)(
      const SeccompPlan& plan);  ///< allowed where one of the rules holds; the function's comment says what remains
  /// What stays refused where policy.syscalls.allow opens the call: the guard filter denies it where one of the rules holds. nullptr:
  /// nothing.
  std::vector<CallRule> (*guarded)(pid_t supervisor);
};

std::span<const RestrictedCall> restricted_calls();  ///< sorted by name

/// clone(2) flags that no one gets: namespaces, a child that isn't the caller's (CLONE_PARENT), tracing.
extern const std::uint32_t kForbiddenCloneFlags;

/// Numbers by name and names by number for the native ABI; libseccomp's table and our own beyond it. -1: no such call.
int syscall_number(const std::string& name);
std::string_view syscall_name(int number);  ///< empty: unknown

/// The known name that is nearest to a misspelt one; empty where none is near.
std::string nearest_syscall(std::string_view name);

/// Numbers from kFirstHole to kLastHole and above kLastKnown are no calls: they answer ENOSYS, so that a newer libc falls back.
inline constexpr std::uint32_t kFirstHole = 337, kLastHole = 423, kLastKnown = 470;

}  // namespace podjail
