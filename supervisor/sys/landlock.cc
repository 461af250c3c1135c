#include "sys/landlock.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace podjail::landlock {
namespace {
constexpr unsigned kCreateVersion = 1U << 0;  // LANDLOCK_CREATE_RULESET_VERSION
constexpr int kRulePathBeneath = 1;           // LANDLOCK_RULE_PATH_BENEATH
constexpr int kRuleNetPort = 2;               // LANDLOCK_RULE_NET_PORT
}  // namespace

int abi_version() noexcept {
  return static_cast<int>(::syscall(SYS_landlock_create_ruleset, nullptr, 0, kCreateVersion));
}

int create_ruleset(const RulesetAttr& attr) noexcept {
  return static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0));
}

int add_path(int ruleset, const PathBeneathAttr& rule) noexcept {
  return static_cast<int>(::syscall(SYS_landlock_add_rule, ruleset, kRulePathBeneath, &rule, 0));
}

int add_port(int ruleset, const NetPortAttr& rule) noexcept {
  return static_cast<int>(::syscall(SYS_landlock_add_rule, ruleset, kRuleNetPort, &rule, 0));
}

int restrict_self(int ruleset) noexcept {
  return static_cast<int>(::syscall(SYS_landlock_restrict_self, ruleset, 0));
}

}  // namespace podjail::landlock
