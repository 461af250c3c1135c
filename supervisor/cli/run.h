#pragma once
#include "cli/log.h"
#include "run/request.h"

namespace podjail {

/// `podjail run` and `podjail exec`: returns the process's exit code.
int run_command(const RunRequest& request, ExitCodeMode mode, const Log& log);

}  // namespace podjail
