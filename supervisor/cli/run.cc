#include "cli/run.h"

#include <cstdio>

#include "run/run.h"

namespace podjail {
namespace {

std::string summary(const RunOutcome& outcome) {
  const Result& result = outcome.result;
  std::string text(to_string(result.status));
  if (result.usage) {
    char duration[32];
    std::snprintf(duration, sizeof duration, " after %.3f s", result.usage->wall);
    text += duration;
  }
  if (!result.message.empty()) text += ": " + result.message;
  return text + " (" + outcome.record_path + ")";
}

}  // namespace

int run_command(const RunRequest& request, ExitCodeMode mode, const Log& log) {
  const RunOutcome outcome = run(request);
  if (outcome.replayed) {
    log.info("run " + outcome.result.run.id + " has a final result already (" + std::string(to_string(outcome.result.status)) +
             "): nothing ran");
    return outcome.supervisor_code;
  }
  if (!outcome.published) {
    log.error("the result can't be written: " + outcome.publish_error);
    return exit_code::kResultNotWritten;
  }
  if (outcome.result.status == Status::succeeded) {
    log.info(summary(outcome));
  } else {
    log.error(summary(outcome));
  }
  return exit_code_of(outcome.result, mode);
}

}  // namespace podjail
