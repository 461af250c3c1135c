#include "run/environment.h"

namespace podjail {
namespace {

bool matches(const std::string& pattern, const std::string& name) {
  if (!pattern.empty() && pattern.back() == '*') return name.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
  return pattern == name;
}

}  // namespace

std::vector<std::string> make_environment(const Policy::Environment& policy, const EnvironmentFacts& facts,
                                          const std::vector<std::string>& extra) {
  std::map<std::string, std::string> environment;
  environment["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  // Thread pools size themselves by the machine's processors, not by the pod's; each of these is the pool's own documented knob.
  const std::string cpus = std::to_string(facts.cpus);
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_MAX_THREADS"}) environment[name] = cpus;
  for (const auto& [name, value] : facts.own) {
    for (const std::string& pattern : policy.pass) {
      if (matches(pattern, name) && !name.starts_with("PODJAIL_") && !name.starts_with("LD_")) environment[name] = value;
    }
  }
  for (const auto& [name, value] : policy.set) environment[name] = value;
  for (const std::string& assignment : extra) {
    const std::size_t equals = assignment.find('=');
    environment[assignment.substr(0, equals)] = assignment.substr(equals + 1);
  }
  environment.try_emplace("HOME", facts.home);
  environment.try_emplace("TMPDIR", facts.tmp);
  environment.try_emplace("USER", "podjail");  // getpass.getuser() of a UID without a passwd entry
  environment.try_emplace("LOGNAME", "podjail");
  environment["PODJAIL_OUTPUT_DIR"] = facts.output;
  environment["PODJAIL_RUN_ID"] = facts.run_id;
  if (!facts.input.empty()) environment["PODJAIL_INPUT_DIR"] = facts.input;
  std::vector<std::string> list;
  for (const auto& [name, value] : environment) list.push_back(name + "=" + value);
  return list;
}

}  // namespace podjail
