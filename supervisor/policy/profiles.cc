#include "policy/profiles.h"

#include <algorithm>
#include <array>

// The files themselves, in .rodata. policy/embed.cmake gives the folder and makes this file depend on each of them.
#define PODJAIL_EMBED(symbol, file)                               \
  ".global podjail_" symbol "\n.hidden podjail_" symbol           \
  "\n"                                                            \
  "podjail_" symbol ":\n.incbin \"" PODJAIL_POLICIES_DIR "/" file \
  "\"\n"                                                          \
  ".global podjail_" symbol "_end\n.hidden podjail_" symbol       \
  "_end\n"                                                        \
  "podjail_" symbol "_end:\n.byte 0\n"

__asm__(".pushsection .rodata,\"a\",@progbits\n"  //
        PODJAIL_EMBED("agent", "agent.json")      //
        PODJAIL_EMBED("audit_only", "audit-only.json") PODJAIL_EMBED("data", "data.json") PODJAIL_EMBED("default", "default.json")
            PODJAIL_EMBED("strict", "strict.json") PODJAIL_EMBED("policy_schema", "schema/policy.v1.json")
                PODJAIL_EMBED("result_schema", "schema/result.v1.json") ".popsection\n");

#define PODJAIL_EMBEDDED(name)                                              \
  __attribute__((visibility("hidden"))) extern const char podjail_##name[]; \
  __attribute__((visibility("hidden"))) extern const char podjail_##name##_end[]

extern "C" {
PODJAIL_EMBEDDED(agent);
PODJAIL_EMBEDDED(audit_only);
PODJAIL_EMBEDDED(data);
PODJAIL_EMBEDDED(default);
PODJAIL_EMBEDDED(strict);
PODJAIL_EMBEDDED(policy_schema);
PODJAIL_EMBEDDED(result_schema);
}

namespace podjail {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::span<const Profile> builtin_profiles() {
  static const std::array<Profile, 5> profiles = {{
      {"agent", "commands and agents: many processes, any installed program, a writable workspace, no validation",
       between(podjail_agent, podjail_agent_end)},
      {"audit-only", "learning: runs like default, records what default would refuse", between(podjail_audit_only, podjail_audit_only_end)},
      {"data", "numpy, pandas, matplotlib: more memory and threads, multiprocessing", between(podjail_data, podjail_data_end)},
      {"default", "an uploaded task: standard library and installed packages, own files, no network, one process",
       between(podjail_default, podjail_default_end)},
      {"strict", "pure computation: an import allow-list, no code from strings, no files or processes",
       between(podjail_strict, podjail_strict_end)},
  }};
  return profiles;
}

std::optional<Profile> find_profile(std::string_view name) {
  const auto profiles = builtin_profiles();
  const auto found = std::ranges::find(profiles, name, &Profile::name);
  return found == profiles.end() ? std::nullopt : std::optional(*found);
}

std::optional<std::string_view> find_schema(std::string_view name) {
  if (name == "policy") return between(podjail_policy_schema, podjail_policy_schema_end);
  if (name == "result") return between(podjail_result_schema, podjail_result_schema_end);
  return std::nullopt;
}

}  // namespace podjail
