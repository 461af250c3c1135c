#pragma once
#include "isolation/pod_facts.h"

namespace podjail {

/// Asks the kernel what this process can still do, by calls that change nothing; no fork, about 0.1 ms.
/// `max_landlock_abi` caps the ABI that is reported (tests force an older kernel's behaviour with it).
PodFacts probe_pod(int max_landlock_abi = 1 << 20);

/// What only trying tells, for `explain`: a forked child loads a filter with a listener, another makes a user namespace. Corrects these
/// offers of `facts`. The process must have one thread.
void probe_by_trying(PodFacts& facts);

}  // namespace podjail
