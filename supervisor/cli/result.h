#pragma once
#include <string>

namespace podjail {

/// `podjail result show FILE`: a person's view of a result; terminal escapes in what the script wrote are neutralised. Returns 0, or 66
/// where FILE is no result.
int result_show(const std::string& file);

}  // namespace podjail
