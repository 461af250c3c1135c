#include "run/ending.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "base/units.h"
#include "result/write.h"

namespace podjail {
namespace {

// An uncaught MemoryError under a memory limit is the limit's doing, but only the script's word says so.
std::optional<Cause> memory_error(const Evidence& e) {
  if (!e.claim || !e.claim->memory_error || !e.memory_limit) return std::nullopt;
  return Cause{Status::memory_exceeded, "limits.memory", "MemoryError under limits.memory (" + format_bytes(*e.memory_limit) + ")", false};
}

// The words that the runner has for a function without a value. Anything else under its name is the script's forgery.
constexpr std::array kReturnReasons = {"function_not_found", "not_callable", "wrong_arity", "return_value_not_json",
                                       "return_value_too_large"};

Cause function_end(const Evidence& e) {
  if (e.claim && e.claim->return_value) return {Status::succeeded, {}, {}, false};
  if (e.claim && std::ranges::find(kReturnReasons, e.claim->return_reason) != kReturnReasons.end()) {
    return {Status::failed, e.claim->return_reason, e.claim->return_message, false};
  }
  return {Status::failed, "no_return_value", "the function gave no return value: the process ended before it returned", true};
}

}  // namespace

Cause decide_ending(const Evidence& e) {
  if (e.first) return *e.first;
  if (e.late) return *e.late;
  // The kernel's own word for two of the rlimits (setrlimit(2)).
  if (e.exit_signal == SIGXCPU && e.cpu_limit) {
    return {Status::cpu_exceeded, "limits.cpu", "used more than limits.cpu (" + format_duration(*e.cpu_limit) + ") of CPU time", true};
  }
  if (e.exit_signal == SIGXFSZ && e.file_size_limit) {
    return {Status::disk_exceeded, "limits.file_size",
            "wrote a file of more than limits.file_size (" + format_bytes(*e.file_size_limit) + ")", true};
  }
  if (e.exit_signal) {
    const std::string name = signal_name(*e.exit_signal);
    return {Status::killed, name, "the script was killed by " + name + ", which podjail did not send", true};
  }
  if (!e.exit_code) return {Status::internal_error, "setup", "the script's end was not seen", true};
  if (*e.exit_code != 0) {
    if (auto cause = memory_error(e)) return *cause;
    if (e.claim && e.claim->exception) {
      const wire::ExceptionClaim& x = *e.claim->exception;
      return {Status::failed, "exception",
              x.type + (x.message.empty() ? "" : ": " + x.message) + (x.line > 0 ? " (line " + std::to_string(x.line) + ")" : ""), true};
    }
    if (e.function_mode && e.claim && !e.claim->return_reason.empty()) return function_end(e);
    std::string message = "ended with exit code " + std::to_string(*e.exit_code);
    if (e.claim && e.claim->exit_argument && e.claim->exit_argument->starts_with('"'))
      message += " by sys.exit(" + *e.claim->exit_argument + ")";
    return {Status::failed, "exit_code", message, true};
  }
  if (e.function_mode) return function_end(e);
  return {Status::succeeded, {}, {}, true};
}

}  // namespace podjail
