#pragma once
#include <csignal>
#include <optional>

#include "run/ending.h"

namespace podjail {

/// The signals that a run answers: SIGCHLD, and those that cancel it.
sigset_t watched_signals();

/// Blocks them, so that one that comes while the run is being prepared waits for the loop (and isn't dropped, as it would be for PID 1
/// without a handler).
void hold_signals();

/// The ending that a cancelling signal means.
Cause cancellation(int signal);

/// The ending, where a cancelling signal waits already: before the fork it can only have come from outside. For set-up that takes its time.
std::optional<Cause> waiting_cancellation();

}  // namespace podjail
