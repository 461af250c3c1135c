#include "cli/policy.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/suggest.h"
#include "cli/terminal.h"
#include "isolation/seccomp_program.h"
#include "policy/parse.h"
#include "policy/profiles.h"
#include "result/exit_code.h"
#include "sys/files.h"

namespace podjail {
namespace {

const std::string kStdin = "<stdin>";

int print(std::string_view text) {
  std::cout << text;
  return exit_code::kSucceeded;
}

PolicyExpected<Policy> one_problem(const std::string& source, const Error& error) {
  return std::unexpected(std::vector<PolicyProblem>{{source, "", 0, 0, error.message()}});
}

// Which names the kernel interface has, only isolation/ knows; a run is refused for the same.
PolicyExpected<Policy> with_known_syscalls(PolicyExpected<Policy> policy, const std::string& source) {
  if (!policy) return policy;
  if (auto known = check_syscall_names(policy->syscalls); !known) return one_problem(source, known.error());
  return policy;
}

PolicyExpected<Policy> load(const std::string& name_or_file, std::span<const std::string> sets) {
  if (name_or_file != "-") return load_runnable_policy(name_or_file, sets);
  const auto text = read_all(STDIN_FILENO, kJsonMaxBytes);
  if (!text) return one_problem(kStdin, text.error());
  return with_known_syscalls(parse_policy(*text, kStdin, sets), kStdin);
}

int print_problems(const std::vector<PolicyProblem>& problems) {
  for (const PolicyProblem& problem : problems) std::cerr << neutral_line(describe(problem)) + '\n';
  return exit_code::kInvalidPolicy;
}

}  // namespace

PolicyExpected<Policy> load_runnable_policy(const std::string& name_or_file, std::span<const std::string> sets) {
  return with_known_syscalls(load_policy(name_or_file, sets), name_or_file);
}

int policy_show(const std::string& name_or_file, std::span<const std::string> sets) {
  const auto policy = load(name_or_file, sets);
  if (!policy) return print_problems(policy.error());
  return print(write_json(nlohmann::json::parse(policy->canonical_json), 2) + '\n');
}

int policy_check(const std::string& name_or_file, std::span<const std::string> sets) {
  const auto policy = load(name_or_file, sets);
  if (!policy) return print_problems(policy.error());
  return print(
      neutral_line((name_or_file == "-" ? kStdin : name_or_file) + ": valid policy \"" + policy->name + "\", sha256 " + policy->sha256) +
      '\n');
}

int policy_schema(const std::string& name) {
  if (const auto schema = find_schema(name)) return print(*schema);
  constexpr std::array<std::string_view, 2> kNames = {"policy", "result"};
  complain("policy schema: no schema \"" + name + "\"" + did_you_mean(name, kNames) + " (there are: policy, result)");
  return exit_code::kUsage;
}

int policy_list(bool json) {
  nlohmann::json list = nlohmann::json::array();
  std::size_t width = 0;
  for (const Profile& profile : builtin_profiles()) width = std::max(width, profile.name.size());
  std::string table;
  for (const Profile& profile : builtin_profiles()) {
    const std::string name(profile.name);
    const auto policy = load_policy(name, {});
    if (!policy) return print_problems(policy.error());  // a built-in that is wrong fails the tests
    list.push_back({{"name", name}, {"summary", profile.summary}, {"sha256", policy->sha256}});
    table += name + std::string(width + 2 - name.size(), ' ') + std::string(profile.summary) + '\n';
  }
  return print(json ? write_json(list, 2) + '\n' : table);
}

}  // namespace podjail
