#pragma once
#include <expected>
#include <vector>

#include "run/prepare.h"

namespace podjail {

/// Validates each text in a jailed podjail-python, initialised once; a file that kills it gets that as its finding and the rest go on in a
/// new one. Errors: why nothing can be checked.
std::expected<std::vector<wire::Verdict>, Cause> check_texts(const Policy& policy, const std::vector<CheckText>& texts);

}  // namespace podjail
