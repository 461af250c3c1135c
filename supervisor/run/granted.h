#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "isolation/plan.h"

namespace podjail {

/// Without links and "..", as far as the path exists.
std::string real_path(const std::string& path);

/// Whether it is `folder` or lies in it. Both without links. Pure.
bool is_beneath(std::string_view path, std::string_view folder);

/// What Landlock grants at this path (without links): of all rules for the folders above it. 0 where Landlock is off.
std::uint64_t granted(const LandlockPlan& plan, const std::string& path);

}  // namespace podjail
