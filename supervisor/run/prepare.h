#pragma once
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "isolation/plan.h"
#include "run/ending.h"
#include "run/find_runner.h"
#include "run/input_tree.h"
#include "run/request.h"
#include "run/scratch.h"
#include "run/script_input.h"
#include "wire/wire.h"

namespace podjail {

/// One file to check, or the script itself (the last of a run).
struct JobItem {
  wire::Job job;
  Fd source;  ///< sealed
};

/// All that is decided before the fork.
struct Prepared {
  PodFacts facts;
  Plan plan;
  Scratch scratch;
  std::string path;  ///< of what is executed: podjail-pythonX.Y or the command
  std::vector<std::string> argv, env;
  std::string cwd;
  std::vector<JobItem> jobs;  ///< empty for a command
  Fd payload;                 ///< may be invalid
  std::optional<InputTree> input;
};

/// From request, policy and script to what the child will be. Fills `result`'s sections as they become known (script, isolation, limits).
/// Errors: why the run can't start.
std::expected<Prepared, Cause> prepare_run(const RunRequest& request, const Policy& policy, const std::string& out, Result& result);

/// The same for `podjail check`: the jail and one job per text.
struct CheckText {
  std::string name;
  std::string bytes;
};
std::expected<Prepared, Cause> prepare_check(const Policy& policy, const std::vector<CheckText>& texts);

}  // namespace podjail
