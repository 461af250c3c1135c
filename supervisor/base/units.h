#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace podjail {

/// Bytes from a Kubernetes quantity: "512Mi", "1Gi", "64k", "1500" (resource.Quantity without exponents and fractions of a byte).
/// Errors: empty, negative, unknown suffix (the near miss is named: "512MB" -> "write 512M or 512Mi"), a fraction of a byte, above 2^63-1.
Expected<std::uint64_t> parse_bytes(std::string_view text);

/// Milliseconds from "30s", "500ms", "5m", "1h", "1m30s", or bare seconds "2.5" (at most three decimals).
/// Errors: empty, negative, unknown unit, more than three decimals of a second, above ten years.
Expected<std::chrono::milliseconds> parse_duration(std::string_view text);

std::string format_bytes(std::uint64_t bytes);             ///< "512Mi", "1500"
std::string format_duration(std::chrono::milliseconds d);  ///< "30s", "500ms", "1m30s"

}  // namespace podjail
