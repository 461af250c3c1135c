#pragma once
#include <map>
#include <string>
#include <vector>

#include "policy/policy.h"

namespace podjail {

/// What of the run shows in the script's environment.
struct EnvironmentFacts {
  std::map<std::string, std::string> own;      ///< podjail's own environment
  std::string work, output, tmp, home, input;  ///< paths; input may be empty
  std::string run_id;
  int cpus = 1;
};

/// The script's whole environment as K=V, sorted: what the policy passes and sets, then what podjail owns (PODJAIL_*, HOME, TMPDIR …).
/// Pure.
std::vector<std::string> make_environment(const Policy::Environment& policy, const EnvironmentFacts& facts,
                                          const std::vector<std::string>& extra);

}  // namespace podjail
