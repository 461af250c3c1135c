#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "isolation/plan.h"

namespace podjail {

/// Stands for "not allowed" in the allow-list that libseccomp makes; seccomp_program.cc puts a notification or the errnos in its place. No
/// rule uses 4094, the last errno that libseccomp takes.
inline constexpr std::uint32_t kNotAllowed = SECCOMP_RET_ERRNO | 4094;

struct CompiledFilters {
  std::vector<sock_filter> guard, allow_list;
};

/// 1.7 ms. Errors: libseccomp's own.
Expected<CompiledFilters> compile_by_libseccomp(const SeccompPlan& plan, pid_t supervisor);

/// The same, made at build time by tables/make_tables.cc, for the plans that most runs have: nothing appended by the policy, no TCP port.
/// Neither the supervisor's nor the child's PID is in them.
struct PrebuiltFilters {
  Policy::SyscallBase base;
  bool execute;
  std::span<const sock_filter> guard, allow_list;
};
std::span<const PrebuiltFilters> prebuilt_filters();

}  // namespace podjail
