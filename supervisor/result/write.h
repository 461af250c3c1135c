#pragma once
#include <string>

#include "result/result.h"

namespace podjail {

/// result.json: `podjail.result/v1`, two-space indented, a final newline; every section always there. Never fails on hostile content: what
/// isn't UTF-8 becomes U+FFFD, NUL and control characters are escaped, everything is bounded.
std::string to_json(const Result& result);

/// At most 1 KiB for /dev/termination-log: status, reason, message, exit, size and SHA-256 of the record that `record` holds.
std::string to_termination_message(const Result& result, std::string_view record);

/// SIGKILL -> "SIGKILL"; a number without a name -> "SIG64".
std::string signal_name(int signal);

}  // namespace podjail
