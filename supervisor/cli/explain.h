#pragma once
#include "isolation/pod_facts.h"
#include "policy/policy.h"

namespace podjail {

/// `podjail explain`: prints to stdout what this pod offers, layer by layer, what the policy asks for and what a run would get. Tries in
/// forked children what only trying tells. Returns the exit code: 0, or 77 where a required layer is missing.
int explain(const Policy& policy, const PodFacts& facts, bool json);

}  // namespace podjail
