#pragma once
#include <cstddef>

#include "isolation/plan.h"
#include "sys/fd.h"

namespace podjail {

/// What the forked child carries out, flattened before the fork so that the child touches no heap.
struct EnterArgs {
  const RlimitPlan* rlimits = nullptr;
  std::size_t rlimit_count = 0;
  int landlock_ruleset = -1;  ///< from make_landlock_ruleset; -1: Landlock is not planned
  bool own_proc = false;      ///< add read access to /proc/self before restricting
};

struct ChildError {
  int err = 0;                  ///< 0: no error
  const char* step = "";        ///< a string literal
  const char* layer = nullptr;  ///< the layer that could not be entered, where it is one
};

/// Builds the ruleset in the supervisor (which it does not restrict); the child only restricts itself with it. CLOEXEC.
/// Errors: the step, errno and path of the rule that failed.
Expected<Fd> make_landlock_ruleset(const LandlockPlan& plan);

/// In the child, after fork and before exec: no_new_privs, capabilities emptied (bounding, ambient, effective, permitted, inheritable),
/// rlimits, Landlock. In this order, each step's failure is final. No heap, locks or logging.
ChildError enter_jail(const EnterArgs& args) noexcept;

}  // namespace podjail
