#pragma once
#include "result/result.h"

namespace podjail {

/// podjail's own exit codes: stable and documented (README), used by podFailurePolicy.
namespace exit_code {
inline constexpr int kSucceeded = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 64;
inline constexpr int kRejected = 65;
inline constexpr int kInvalidInput = 66;
inline constexpr int kInternalError = 70;
inline constexpr int kResultNotWritten = 73;
inline constexpr int kCancelled = 75;
inline constexpr int kInterrupted = 76;
inline constexpr int kIsolationUnavailable = 77;
inline constexpr int kInvalidPolicy = 78;
inline constexpr int kTimedOut = 80;
inline constexpr int kCpuExceeded = 81;
inline constexpr int kMemoryExceeded = 82;
inline constexpr int kProcessesExceeded = 83;
inline constexpr int kDiskExceeded = 84;
inline constexpr int kOutputExceeded = 85;
inline constexpr int kKilled = 86;
}  // namespace exit_code

/// The code of a final status (`running` has none: kInternalError).
int exit_code_of(Status status);

/// --exit-code: what podjail exits with.
enum class ExitCodeMode {
  status,      ///< exit_code_of(status)
  command,     ///< the script's own code, 128+n for its signal, where it came to its own end
  supervisor,  ///< 0 whenever a final result was published, but never once a TERM from outside came first (`cancelled`)
};
int exit_code_of(const Result& result, ExitCodeMode mode);

}  // namespace podjail
