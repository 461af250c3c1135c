#pragma once
#include <string>

#include "python/ref.h"
#include "wire/wire.h"

namespace podjail::python {

/// Runs the script as a module named after its file, calls job.function with the payload, awaits it where it is async, and puts the return
/// value (or why there is none) into `ended`. nullptr: an exception is set, or `ended.return_reason` says what was wrong.
Ref call_function(const wire::Job& job, const Ref& code, const std::string& payload, const Ref& filename, wire::Ended& ended);

}  // namespace podjail::python
