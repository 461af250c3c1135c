#pragma once
#include <span>
#include <string_view>

#include "isolation/plan.h"
#include "isolation/verify.h"
#include "sys/proc_read.h"

namespace podjail {

/// What one layer's `plan` may look at.
struct LayerInput {
  const Policy& policy;
  const PodFacts& facts;
  const RunPaths& paths;
};

/// One kernel mechanism, from what the pod offers to what we saw enforced. enter_child.cc and seccomp_child.cc carry it out.
struct Layer {
  std::string_view name;  ///< as in isolation.require and result.json
  Offer (*offer)(const PodFacts& facts);
  /// Only where the offer is there: fills its part of the plan and the line's mechanism; clears `planned` with a reason where it has
  /// nothing to enforce.
  void (*plan)(const LayerInput& input, Plan& plan, LayerPlan& line);
  /// Only where it is planned: an error is what the kernel says instead.
  Expected<void> (*verify)(const Plan& plan, const PodFacts& facts, const ProcStatus& status, const ChildReport& report);
  std::string_view enable;  ///< the pod-spec line (or node setting) that gives the layer; empty: there is none
};

/// In the order in which they are entered, which is a security property: layers.cc says for each why it follows.
std::span<const Layer> layers();

}  // namespace podjail
