#pragma once
#include <functional>
#include <string>
#include <vector>

#include "isolation/plan.h"
#include "support/fork_harness.h"

namespace podjail::test {

/// What a jailed body is run under.
struct JailOptions {
  Policy policy;
  RunPaths paths;
  bool listener = true;            ///< false: as where another listener is in the tree
  int max_landlock_abi = 1 << 20;  ///< an older kernel's behaviour
};

/// What came to the stand-in supervisor, as "what(detail)".
using Records = std::vector<std::string>;

/// Runs `body` under the whole jail: a forked stand-in supervisor of uid 1000 plans, compiles and forks the confined process, and answers
/// its notifications. Returns how the confined process ended; `records` gets what was notified.
ChildEnd run_jailed(const JailOptions& options, const std::function<int()>& body, Records* records = nullptr);

/// The same without the jail, for the positive control: an unprivileged parent and a child in its own session.
ChildEnd run_bare(const std::function<int()>& body);

}  // namespace podjail::test
