#pragma once
#include <optional>
#include <string>

#include "run/loop.h"
#include "sys/fd.h"

namespace podjail {

/// Passes podjail's stdin on through a pipe (never the descriptor itself: a terminal's is writable). A script that stops reading is normal
/// and ends the relay.
class StdinRelay {
 public:
  StdinRelay(Loop& loop, int source, Fd pipe) : loop_(loop), source_(source), pipe_(std::move(pipe)) {}
  Expected<void> start();
  void stop();

 private:
  void pump();
  void wait();
  Loop& loop_;
  int source_;
  Fd pipe_;
  std::string chunk_;
  bool regular_ = false;
  std::optional<bool> waiting_on_pipe_;  ///< what the loop waits for; nullopt: nothing
};

}  // namespace podjail
