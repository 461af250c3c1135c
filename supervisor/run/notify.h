#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "isolation/denied_call.h"
#include "isolation/plan.h"
#include "policy/policy.h"
#include "run/ending.h"
#include "run/shared_memory.h"
#include "run/tree.h"
#include "run/violations.h"
#include "sys/fd.h"
#include "sys/seccomp_notify.h"

namespace podjail {

/// Answers the calls that the filter sends to the supervisor: denied ones get their errno and are recorded, clones are counted, signals to
/// a PID are let through where it is in the tree, and what wire/runner_request.h lists is given.
class NotifyHandler {
 public:
  /// So that a flood of denied calls, or one that takes long to answer, can't starve timers and signals.
  static constexpr int kMaxPerTurn = 64;
  static constexpr auto kTurn = std::chrono::milliseconds(20);

  NotifyHandler(Fd listener, SeccompPlan plan, const Policy::Limits& limits, Tree& tree, SharedMemory& shared_memory,
                ViolationLog& violations)
      : listener_(std::move(listener)),
        plan_(std::move(plan)),
        limits_(limits),
        tree_(tree),
        shared_memory_(shared_memory),
        violations_(violations) {}

  [[nodiscard]] int fd() const { return listener_.get(); }

  /// At most kMaxPerTurn notifications, none begun after kTurn. Returns what has to end the run, if anything (limits.processes).
  std::optional<Cause> handle();

  /// From now on every clone gets EAGAIN: nothing new is born while the tree is being killed.
  void freeze() { frozen_ = true; }

  [[nodiscard]] std::uint64_t peak_processes() const { return peak_processes_; }
  [[nodiscard]] std::uint64_t peak_threads() const { return peak_threads_; }

 private:
  struct Answer {
    int err = 0;  ///< 0: CONTINUE
    std::optional<Cause> cause;
    bool record = true;  ///< as a violation, where there is an errno
  };
  Answer answer(const CallDecision& decision, pid_t caller);
  [[nodiscard]] Answer reach(const CallDecision& decision) const;
  Answer new_process(pid_t caller);
  Answer new_thread();

  /// Answers by itself where there is something to give: 0, else the errno to answer.
  using Giver = int (NotifyHandler::*)(const CallDecision&, const Notification&);
  static Giver giver(CallDecision::Kind kind);
  int give_proc_file(const CallDecision& decision, const Notification& notification);
  int give_terminal(const CallDecision& decision, const Notification& notification);
  int take_claim(const CallDecision& decision, const Notification& notification);

  Fd listener_;
  SeccompPlan plan_;
  Policy::Limits limits_;
  Tree& tree_;
  SharedMemory& shared_memory_;
  ViolationLog& violations_;
  bool frozen_ = false;
  std::uint64_t counted_processes_ = 0;  ///< at the last look at /proc, plus what was granted since
  std::uint64_t counted_threads_ = 0;
  std::map<pid_t, Monotonic::time_point> grants_;  ///< clones let through that /proc may not show yet, by the calling thread
  std::uint64_t peak_processes_ = 1, peak_threads_ = 1;
};

}  // namespace podjail
