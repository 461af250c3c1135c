#pragma once
#include <span>
#include <string>

#include "policy/parse.h"

namespace podjail {

/// load_policy, and what a run would refuse it for as well: a name that is no system call.
PolicyExpected<Policy> load_runnable_policy(const std::string& name_or_file, std::span<const std::string> sets);

// The subcommands of `podjail policy`. Each prints to stdout (problems to stderr, one a line: "file:line:column: /pointer: message") and
// returns the process's exit code: 0, 64 for a wrong argument, 78 for an invalid policy. "-" as a policy is stdin.

/// The effective policy as JSON; it is itself a policy document.
int policy_show(const std::string& name_or_file, std::span<const std::string> sets);

int policy_check(const std::string& name_or_file, std::span<const std::string> sets);

/// The JSON Schema "policy" or "result".
int policy_schema(const std::string& name);

/// The built-in policies: a table, or a JSON list of {name, summary, sha256}.
int policy_list(bool json);

}  // namespace podjail
