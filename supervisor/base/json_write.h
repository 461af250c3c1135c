#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace podjail {

/// JSON text, keys sorted; `indent` < 0: no white space at all. Ill-formed UTF-8 in a string becomes U+FFFD; never throws for what the
/// value holds.
std::string write_json(const nlohmann::json& value, int indent = -1);

}  // namespace podjail
