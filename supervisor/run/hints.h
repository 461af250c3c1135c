#pragma once
#include <string>

#include "result/result.h"
#include "run/prepare.h"
#include "run/request.h"

namespace podjail {

/// What a script's author would have to change where the jail itself is the likely reason for the exception: "" or a sentence. Looks at the
/// claim, at what was refused, and at the paths that the exception names, as podjail itself finds them: the scratch folder must still be
/// there. Where python3 would fail as well, it says nothing of the policy.
std::string hint_for(const Result& result, const RunRequest& request, const Prepared& prepared);

}  // namespace podjail
