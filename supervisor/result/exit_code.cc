#include "result/exit_code.h"

namespace podjail {
namespace {

struct Row {
  Status status;
  std::string_view name;
  int code;
};
constexpr std::array kRows = {
    Row{Status::running, "running", exit_code::kInternalError},
    Row{Status::succeeded, "succeeded", exit_code::kSucceeded},
    Row{Status::failed, "failed", exit_code::kFailed},
    Row{Status::rejected, "rejected", exit_code::kRejected},
    Row{Status::timed_out, "timed_out", exit_code::kTimedOut},
    Row{Status::cpu_exceeded, "cpu_exceeded", exit_code::kCpuExceeded},
    Row{Status::memory_exceeded, "memory_exceeded", exit_code::kMemoryExceeded},
    Row{Status::processes_exceeded, "processes_exceeded", exit_code::kProcessesExceeded},
    Row{Status::disk_exceeded, "disk_exceeded", exit_code::kDiskExceeded},
    Row{Status::output_exceeded, "output_exceeded", exit_code::kOutputExceeded},
    Row{Status::killed, "killed", exit_code::kKilled},
    Row{Status::cancelled, "cancelled", exit_code::kCancelled},
    Row{Status::interrupted, "interrupted", exit_code::kInterrupted},
    Row{Status::isolation_unavailable, "isolation_unavailable", exit_code::kIsolationUnavailable},
    Row{Status::invalid_policy, "invalid_policy", exit_code::kInvalidPolicy},
    Row{Status::invalid_input, "invalid_input", exit_code::kInvalidInput},
    Row{Status::internal_error, "internal_error", exit_code::kInternalError},
};

const Row& row_of(Status status) {
  return kRows[static_cast<std::size_t>(status)];
}

}  // namespace

std::string_view to_string(Status status) {
  return row_of(status).name;
}

std::optional<Status> status_from(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.status;
  }
  return std::nullopt;
}

int exit_code_of(Status status) {
  return row_of(status).code;
}

int exit_code_of(const Result& result, ExitCodeMode mode) {
  switch (mode) {
    case ExitCodeMode::status:
      break;
    case ExitCodeMode::command: {
      const bool own_end = result.status == Status::succeeded || result.status == Status::failed || result.status == Status::killed;
      if (own_end && result.exit.code) return *result.exit.code;
      if (own_end && result.exit.signal) return 128 + *result.exit.signal;
      break;
    }
    case ExitCodeMode::supervisor:
      if (result.status != Status::cancelled && result.status != Status::running) return 0;
      break;
  }
  return exit_code_of(result.status);
}

}  // namespace podjail
