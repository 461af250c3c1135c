#pragma once
#include <optional>
#include <string>

#include "result/result.h"

namespace podjail {

/// Why a run ended, or had to be ended.
struct Cause {
  Status status = Status::internal_error;
  std::string reason;   ///< stable word of result.reason
  std::string message;  ///< for people
  bool observed = true;
};

/// What the supervisor saw and heard, once the tree is dead. Plain data.
struct Evidence {
  std::optional<Cause> first;    ///< a limit, a cancellation or a refusal that came before the script's own end
  std::optional<int> exit_code;  ///< of the script's main process
  std::optional<int> exit_signal;
  bool function_mode = false;
  std::optional<wire::Ended> claim;  ///< what the runner said; may be forged or missing
  std::optional<std::uint64_t> memory_limit, file_size_limit;
  std::optional<Millis> cpu_limit;
  std::optional<Cause> late;  ///< found only after the end: scratch over its limit at the final count
};

/// The one place that decides a status. First cause wins; then what only the final count showed; then the script's own end. Pure.
Cause decide_ending(const Evidence& evidence);

}  // namespace podjail
