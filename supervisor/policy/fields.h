#pragma once
#include <string>
#include <vector>

#include "base/json_read.h"
#include "policy/parse.h"
#include "policy/policy.h"

namespace podjail {

inline constexpr std::string_view kPolicySchema = "podjail.policy/v1";

/// Reads what `object` says into `policy` and leaves the rest of it as it is; a problem's line and column are the node's.
/// Lists replace, `validation.rules` and `environment.set` merge by key.
void read_fields(const JsonNode& object, const std::string& source, Policy& policy, std::vector<PolicyProblem>& problems);

/// Every key of the policy in its one written form: sizes as Kubernetes quantities, times as seconds or milliseconds, keys sorted, no white
/// space.
std::string write_fields(const Policy& policy);

}  // namespace podjail
