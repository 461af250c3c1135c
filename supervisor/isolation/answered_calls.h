#pragma once
#include <linux/filter.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "isolation/plan.h"

namespace podjail {

/// A refused call whose callers have a fallback, and the errno that leads them to it: that of a kernel or file system without the feature.
/// EPERM would be taken for a failure. Refused all the same, by the filter itself: neither notified nor recorded.
struct AnsweredCall {
  const char* name;  ///< the kernel's
  const char* why;
  int err;         ///< 0: succeeds and does nothing
  int index = -1;  ///< of the argument that says which operation is meant; -1: all of the call
  /// Values of it that go to the supervisor, as any refused call does: to be recorded or given.
  std::initializer_list<std::uint32_t> asked;
};

std::span<const AnsweredCall> answered_calls();

/// BPF instructions that answer them, for the end of the allow-list: only what is allowed nowhere comes there. What `plan.deny` names is
/// left out. Falls through to the next instruction otherwise; the accumulator is undefined then.
std::vector<sock_filter> answers(const SeccompPlan& plan);

}  // namespace podjail
