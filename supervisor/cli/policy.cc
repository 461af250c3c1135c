#include "cli/policy.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/suggest.h"
#include "policy/parse.h"
#include "policy/profiles.h"
#include "sys/files.h"

namespace podjail {
namespace {

constexpr int kOk = 0, kUsage = 64, kCantWrite = 73, kInvalidPolicy = 78;  // contract: exit codes

int print(std::string_view text) {
  const auto written = write_all(STDOUT_FILENO, text);
  if (written) return kOk;
  std::fprintf(stderr, "podjail: stdout: %s\n", written.error().message().c_str());
  return kCantWrite;
}

PolicyExpected<Policy> load(const std::string& name_or_file, std::span<const std::string> sets) {
  if (name_or_file != "-") return load_policy(name_or_file, sets);
  const auto text = read_all(STDIN_FILENO, kJsonMaxBytes);
  if (!text) return std::unexpected(std::vector<PolicyProblem>{{"<stdin>", "", 0, 0, text.error().message()}});
  return parse_policy(*text, "<stdin>", sets);
}

int print_problems(const std::vector<PolicyProblem>& problems) {
  for (const PolicyProblem& problem : problems) std::fprintf(stderr, "%s\n", describe(problem).c_str());
  return kInvalidPolicy;
}

}  // namespace

int policy_show(const std::string& name_or_file, std::span<const std::string> sets) {
  const auto policy = load(name_or_file, sets);
  if (!policy) return print_problems(policy.error());
  return print(write_json(nlohmann::json::parse(policy->canonical_json), 2) + '\n');
}

int policy_check(const std::string& name_or_file, std::span<const std::string> sets) {
  const auto policy = load(name_or_file, sets);
  if (!policy) return print_problems(policy.error());
  return print((name_or_file == "-" ? "<stdin>" : name_or_file) + ": valid policy \"" + policy->name + "\", sha256 " + policy->sha256 +
               '\n');
}

int policy_schema(const std::string& name) {
  if (const auto schema = find_schema(name)) return print(*schema);
  constexpr std::array<std::string_view, 2> kNames = {"policy", "result"};
  std::fprintf(stderr, "podjail policy schema: no schema \"%s\"%s (there are: policy, result)\n", name.c_str(),
               did_you_mean(name, kNames).c_str());
  return kUsage;
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
