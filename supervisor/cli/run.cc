#include "cli/run.h"

#include <cstdio>

#include "cli/terminal.h"
#include "run/run.h"

namespace podjail {
namespace {

constexpr std::size_t kMaxMessage = 500;  // the whole of it is in the result

// "2 artifacts refused (symlink, too_large)"
std::string refused_artifacts(const ArtifactReport& artifacts) {
  std::string list;
  for (const std::string& reason : artifacts.refused_reasons) list += (list.empty() ? "" : ", ") + reason;
  return std::to_string(artifacts.refused_count) + (artifacts.refused_count == 1 ? " artifact" : " artifacts") + " refused (" + list + ")";
}

std::string summary(const RunOutcome& outcome) {
  const Result& result = outcome.result;
  std::string text(to_string(result.status));
  if (result.usage) {
    char duration[32];
    std::snprintf(duration, sizeof duration, " after %.3f s", result.usage->wall);
    text += duration;
  }
  if (result.artifacts.refused_count != 0) text += ", " + refused_artifacts(result.artifacts);
  if (!result.message.empty()) text += ": " + neutral_line(result.message, kMaxMessage);
  return text + " (" + outcome.record_path + ")";
}

}  // namespace

int run_command(const RunRequest& request, ExitCodeMode mode, const Log& log) {
  const RunOutcome outcome = run(request);
  if (outcome.replayed) {
    log.info("run " + outcome.result.run.id + " has a final result already (" + std::string(to_string(outcome.result.status)) +
             "): nothing ran");
    return exit_code_of(outcome.result, mode);
  }
  if (!outcome.published) {
    log.error("the result can't be written: " + outcome.publish_error, outcome.open_line);
    return exit_code::kResultNotWritten;
  }
  if (outcome.result.status == Status::succeeded) {
    log.info(summary(outcome), outcome.open_line);
  } else {
    log.error(summary(outcome), outcome.open_line);
  }
  return exit_code_of(outcome.result, mode);
}

}  // namespace podjail
