#include "cli/explain.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/units.h"
#include "cli/terminal.h"
#include "isolation/plan.h"
#include "isolation/probe.h"
#include "sys/landlock_abi.h"

namespace podjail {
namespace {

using nlohmann::ordered_json;

constexpr int kIsolationUnavailable = 77;

bool exists(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0;
}

const char* access_word(std::uint64_t access) {
  const bool write = (access & landlock::kWriteFile) != 0;
  if ((access & landlock::kExecute) != 0) return write ? "write+execute" : "execute";
  return write ? "write" : "read";
}

// Each path once: the policy may list what podjail adds of its own, and the kernel unites the rights.
std::vector<LandlockPath> distinct(const std::vector<LandlockPath>& paths) {
  std::vector<LandlockPath> result;
  for (const LandlockPath& path : paths) {
    const auto same = std::ranges::find(result, path.path, &LandlockPath::path);
    if (same == result.end()) {
      result.push_back(path);
    } else {
      same->access |= path.access;
    }
  }
  return result;
}

const char* namespaces_word(Policy::Namespaces value) {
  switch (value) {
    case Policy::Namespaces::never:
      return "never";
    case Policy::Namespaces::if_available:
      return "if-available";
    case Policy::Namespaces::always:
      return "always";
  }
  return "";
}

struct LimitLine {
  const char* name;
  std::string text;  ///< for a person
  ordered_json value;
};

LimitLine duration(const char* name, std::optional<Millis> value) {
  if (!value) return {name, "none", nullptr};
  return {name, format_duration(*value), static_cast<double>(value->count()) / 1000.0};
}
LimitLine bytes(const char* name, std::optional<std::uint64_t> value) {
  if (!value) return {name, "none", nullptr};
  return {name, format_bytes(*value), *value};
}
LimitLine count(const char* name, std::optional<std::uint64_t> value) {
  if (!value) return {name, "none", nullptr};
  return {name, std::to_string(*value), *value};
}

std::vector<LimitLine> limit_lines(const Policy::Limits& limits) {
  return {duration("wall", limits.wall),
          duration("grace", limits.grace),
          duration("cpu", limits.cpu),
          bytes("memory", limits.memory),
          count("processes", limits.processes),
          count("threads", limits.threads),
          count("open_files", limits.open_files),
          bytes("file_size", limits.file_size),
          bytes("scratch", limits.scratch),
          count("scratch_files", limits.scratch_files),
          bytes("stdout", limits.stdout_kept),
          bytes("stderr", limits.stderr_kept),
          bytes("output", limits.output),
          bytes("artifact_bytes", limits.artifact_bytes),
          count("artifact_files", limits.artifact_files),
          bytes("return_value", limits.return_value)};
}

ordered_json offer_json(const Offer& offer) {
  return {{"available", offer.available}, {"reason", offer.available ? ordered_json(nullptr) : ordered_json(offer.reason)}};
}

void print_json(const Policy& policy, const PodFacts& facts, const Plan& plan, const std::optional<Error>& missing) {
  ordered_json layers = ordered_json::array();
  const auto text_or_null = [](const std::string& text) { return text.empty() ? ordered_json(nullptr) : ordered_json(text); };
  for (const LayerPlan& line : plan.layers) {
    layers.push_back({{"layer", line.layer},
                      {"required", line.required},
                      {"planned", line.planned},
                      {"mechanism", text_or_null(line.mechanism)},
                      {"reason", text_or_null(line.reason)},
                      {"enable", text_or_null(line.enable)}});
  }
  ordered_json limits = ordered_json::object();
  for (const LimitLine& line : limit_lines(policy.limits)) limits[line.name] = line.value;
  ordered_json paths = ordered_json::array();
  for (const LandlockPath& path : distinct(plan.landlock.paths)) {
    paths.push_back({{"path", path.path}, {"access", access_word(path.access)}, {"exists", exists(path.path)}});
  }
  const ordered_json document = {
      {"schema", "podjail.explain/v1"},
      {"policy", {{"name", policy.name}, {"sha256", policy.sha256}, {"namespaces", namespaces_word(policy.isolation.namespaces)}}},
      {"pod",
       {{"kernel", facts.kernel},
        {"uid", facts.uid},
        {"cpus", facts.cpus},
        {"landlock_abi", facts.landlock_abi},
        {"seccomp_filters", facts.seccomp_filters},
        {"no_new_privs", facts.no_new_privs},
        {"cap_effective", fmt::format("{:016x}", facts.cap_effective)},
        {"offers",
         {{"landlock", offer_json(facts.landlock)},
          {"seccomp", offer_json(facts.seccomp)},
          {"seccomp_notify", offer_json(facts.seccomp_notify)},
          {"user_namespaces", offer_json(facts.user_namespaces)}}}}},
      {"tier", plan.tier},
      {"layers", layers},
      {"limits", limits},
      {"paths", paths},
      {"connect_tcp", policy.network.connect_tcp},
      {"bind_tcp", policy.network.bind_tcp},
      {"missing", missing ? ordered_json({{"layer", missing->subject}, {"message", missing->step}}) : ordered_json(nullptr)}};
  fmt::print("{}\n", document.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

void print_text(const Policy& policy, const PodFacts& facts, const Plan& plan, const std::optional<Error>& missing) {
  fmt::print("policy {} on Linux {}, uid {}, {} CPU{}: tier {}\n\n", neutral_line(policy.name), facts.kernel, facts.uid, facts.cpus,
             facts.cpus == 1 ? "" : "s", plan.tier);
  fmt::print("{:<20} {:<9} {:<8} {}\n", "layer", "required", "planned", "how, or why not");
  for (const LayerPlan& line : plan.layers) {
    fmt::print("{:<20} {:<9} {:<8} {}\n", line.layer, line.required ? "yes" : "no", line.planned ? "yes" : "no",
               line.planned ? line.mechanism : line.reason);
    if (!line.enable.empty()) fmt::print("{:<39} to enable: {}\n", "", line.enable);
  }
  if (!facts.user_namespaces.available) fmt::print("\nuser namespaces: {}\n", facts.user_namespaces.reason);

  fmt::print("\nlimits\n");
  for (const LimitLine& line : limit_lines(policy.limits)) fmt::print("  {:<16} {}\n", line.name, line.text);
  fmt::print("\nfiles (with the run's own folder; all else is refused)\n");
  for (const LandlockPath& path : distinct(plan.landlock.paths)) {
    fmt::print("  {:<8} {}{}\n", access_word(path.access), neutral_line(path.path), exists(path.path) ? "" : "  (not here)");
  }
  if (!plan.landlock.on) fmt::print("  no Landlock: file modes alone decide\n");
  fmt::print("\nnetwork\n");
  if (!plan.seccomp.tcp) fmt::print("  no sockets\n");
  if (!plan.seccomp.tcp && !(policy.network.connect_tcp.empty() && policy.network.bind_tcp.empty())) {
    fmt::print("  the policy lists TCP ports, which only Landlock ABI 4 can limit\n");
  }
  if (plan.seccomp.tcp) {
    for (const std::uint16_t port : policy.network.connect_tcp) fmt::print("  connect TCP {}\n", port);
    for (const std::uint16_t port : policy.network.bind_tcp) fmt::print("  bind TCP {}\n", port);
  }
  if (missing) fmt::print("\nA run would be refused: {}\n", neutral_line(missing->step));
}

}  // namespace

int explain(const Policy& policy, const PodFacts& facts, bool json) {
  PodFacts tried = facts;
  probe_by_trying(tried);
  const Plan plan = make_plan(policy, tried, RunPaths{});
  std::optional<Error> missing;
  if (auto complete = missing_requirement(plan, policy); !complete) missing = complete.error();
  (json ? print_json : print_text)(policy, tried, plan, missing);
  return missing ? kIsolationUnavailable : 0;
}

}  // namespace podjail
