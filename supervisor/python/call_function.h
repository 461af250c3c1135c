#pragma once
#include <string>

#include "python/ref.h"
#include "wire/wire.h"

namespace podjail::python {

/// The argument of the job's function: the payload by json.loads, {} where there is none. Before "go", so that a payload that is no JSON
/// never starts the script. nullptr: `problem` says why.
Ref parse_payload(const wire::Job& job, const std::string& payload, std::string& problem);

/// Runs the script as a module named after its file, calls job.function with `argument`, awaits it where it is async, and puts the return
/// value (or why there is none) into `ended`. nullptr: an exception is set, or `ended.return_reason` says what was wrong.
Ref call_function(const wire::Job& job, const Ref& code, const Ref& argument, const Ref& filename, wire::Ended& ended);

}  // namespace podjail::python
