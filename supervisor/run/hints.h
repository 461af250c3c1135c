#pragma once
#include <string>

#include "result/result.h"
#include "run/request.h"

namespace podjail {

/// What a script's author would have to change where the jail itself is the likely reason for the exception: "" or a sentence. Looks at the
/// claim, at what was refused, and at what lies beside the script.
std::string hint_for(const Result& result, const RunRequest& request);

}  // namespace podjail
