#pragma once
#include <string>

#include "python/check.h"
#include "python/report.h"
#include "wire/wire.h"

namespace podjail::python {

/// Runs an accepted script as `python3 SCRIPT ARGS` runs it, or calls the job's function, and reports how that ended. Returns the exit
/// code, for `finalise`; a SystemExit ends the process in here, as in python3. `argument` is the function's.
int run_script(const wire::Job& job, std::string source, Checked checked, const Ref& argument, Report& report);

/// What has to be imported before the script's folder is on sys.path, where the job needs more than python3 itself has imported.
void import_for(const wire::Job& job);

}  // namespace podjail::python
