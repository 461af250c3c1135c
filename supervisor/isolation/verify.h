#pragma once
#include <string>
#include <vector>

#include "isolation/plan.h"
#include "sys/proc_read.h"

namespace podjail {

/// What only the confined process itself can tell; everything else is read from outside.
struct ChildReport {
  int landlock_probe_err = 0;  ///< errno of opening a path that only Landlock keeps from it; EACCES is right
  bool listener_arrived = false;
  int listener_err = 0;
};

/// One entry of isolation.layers in result.json.
struct LayerReport {
  std::string layer;
  bool required = false;
  bool enforced = false;
  std::string mechanism;  ///< empty: null
  std::string reason;     ///< empty: null
};

/// Compares what the kernel says of the child (every thread) with the plan, before the first untrusted byte is sent.
/// Errors: a planned layer that isn't there, the layer being the Error's subject: the run must be refused.
Expected<std::vector<LayerReport>> verify_confinement(const Plan& plan, const PodFacts& facts, const ProcStatus& status,
                                                      const ChildReport& report);

}  // namespace podjail
