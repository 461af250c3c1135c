#include "run/notify.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sys/files.h"
#include "sys/proc_read.h"
#include "wire/runner_request.h"

namespace podjail {
namespace {

// How long a clone that was let through may take to show in /proc. A thread is in one clone at a time, so its own earlier grant is always
// over.
constexpr auto kPending = std::chrono::milliseconds(2);

std::string errno_name(int err) {
  const char* const name = ::strerrorname_np(err);
  return name != nullptr ? name : std::to_string(err);
}

}  // namespace

NotifyHandler::Answer NotifyHandler::new_process(pid_t caller) {
  if (frozen_) return {EAGAIN, {}};
  const auto over = [this] { return limits_.processes && counted_processes_ + 1 > *limits_.processes; };
  if (over() || counted_processes_ + 1 > peak_processes_) {
    const auto now = Monotonic::now();
    std::erase_if(grants_, [&](const auto& grant) { return grant.first == caller || now - grant.second > kPending; });
    counted_processes_ = tree_.count().processes + grants_.size();
    if (over()) {
      return {EAGAIN, Cause{Status::processes_exceeded, "limits.processes",
                            "more than limits.processes (" + std::to_string(*limits_.processes) + ") at a time", true}};
    }
  }
  ++counted_processes_;
  peak_processes_ = std::max(peak_processes_, counted_processes_);
  grants_[caller] = Monotonic::now();
  return {};
}

NotifyHandler::Answer NotifyHandler::new_thread() {
  if (frozen_) return {EAGAIN, {}};
  const auto over = [this] { return limits_.threads && counted_threads_ + 1 > *limits_.threads; };
  if (over() || counted_threads_ + 1 > peak_threads_) {
    counted_threads_ = tree_.count().threads;
    if (over()) return {EAGAIN, {}};  // as pthread_create(3) says it; Python raises "can't start new thread"
  }
  ++counted_threads_;
  peak_threads_ = std::max(peak_threads_, counted_threads_);
  return {};
}

// As the kernel has it: what is nowhere is ESRCH, by which programs see that a worker of theirs has ended; it is no violation.
NotifyHandler::Answer NotifyHandler::reach(const CallDecision& decision) const {
  if (tree_.contains(decision.target) || (decision.group && tree_.has_group(decision.target))) return {};
  if (::kill(decision.group ? -decision.target : decision.target, 0) != 0 && errno == ESRCH) return {ESRCH, {}, false};
  return {decision.err, {}};
}

NotifyHandler::Answer NotifyHandler::answer(const CallDecision& decision, pid_t caller) {
  switch (decision.kind) {
    case CallDecision::Kind::deny:
      return {decision.err, {}};
    case CallDecision::Kind::new_process:
      return new_process(caller);
    case CallDecision::Kind::new_thread:
      return new_thread();
    case CallDecision::Kind::target:
      return reach(decision);
    case CallDecision::Kind::proc_file:
    case CallDecision::Kind::terminal:
    case CallDecision::Kind::claim:
      break;  // giver() has them; nothing is continued
  }
  return {EPERM, {}};
}

int NotifyHandler::give_proc_file(const CallDecision& decision, const Notification& notification) {
  const auto caller = read_proc_status(decision.target == 0 ? notification.tid : decision.target);
  if (!caller || !notify_id_valid(listener_.get(), notification.id)) return ESRCH;
  // The folder is opened first: should the number be given anew, what is opened in it is still this process, or nothing.
  const auto process = open_proc(caller->tgid, decision.thread == 0 ? "." : "task/" + std::to_string(decision.thread));
  if (!process) return process.error().err;
  if (decision.target != 0 && !tree_.contains(caller->tgid)) return EACCES;
  const auto file = open_at(process->get(), std::string(wire::kProcFiles[decision.file]), O_RDONLY | O_NONBLOCK);
  if (!file) return file.error().err;
  const auto given = notify_give(listener_.get(), notification.id, file->get(), decision.cloexec);
  return given ? 0 : given.error().err == EMFILE ? EMFILE : EACCES;
}

// Whoever has the master may have the slave. The descriptor's number says which it is; it is asked before and after: had another terminal
// had the number in between, the one that was opened is hung up by now.
int NotifyHandler::give_terminal(const CallDecision& decision, const Notification& notification) {
  const auto caller = read_proc_status(notification.tid);
  if (!caller || !notify_id_valid(listener_.get(), notification.id)) return ESRCH;
  const auto index = terminal_of(caller->tgid, static_cast<int>(decision.file));
  if (!index) return ENOTTY;
  const auto slave = open_at(AT_FDCWD, "/dev/pts/" + std::to_string(*index), O_RDWR | O_NOCTTY | (decision.nonblock ? O_NONBLOCK : 0));
  if (!slave) return slave.error().err;
  if (terminal_of(caller->tgid, static_cast<int>(decision.file)) != index) return EIO;
  const auto given = notify_give(listener_.get(), notification.id, slave->get(), decision.cloexec);
  return given ? 0 : given.error().err == EMFILE ? EMFILE : EIO;
}

int NotifyHandler::take_claim(const CallDecision& decision, const Notification& notification) {
  const auto caller = read_proc_status(notification.tid);
  if (caller && notify_id_valid(listener_.get(), notification.id)) shared_memory_.claim(caller->tgid, static_cast<int>(decision.file));
  (void)notify_succeed(listener_.get(), notification.id);
  return 0;
}

NotifyHandler::Giver NotifyHandler::giver(CallDecision::Kind kind) {
  switch (kind) {
    case CallDecision::Kind::proc_file:
      return &NotifyHandler::give_proc_file;
    case CallDecision::Kind::terminal:
      return &NotifyHandler::give_terminal;
    case CallDecision::Kind::claim:
      return &NotifyHandler::take_claim;
    default:
      return nullptr;
  }
}

std::optional<Cause> NotifyHandler::handle() {
  std::optional<Cause> cause;
  const auto until = Monotonic::now() + kTurn;
  for (int i = 0; i < kMaxPerTurn && Monotonic::now() < until; ++i) {
    Notification notification;
    const auto state = notify_receive(listener_.get(), notification);
    if (!state || *state != NotifyState::one) break;
    const CallDecision decision = decide_call(notification.data, plan_);
    if (const auto give = giver(decision.kind)) {
      if (const int err = (this->*give)(decision, notification); err != 0) (void)notify_deny(listener_.get(), notification.id, err);
      continue;
    }
    Answer given = answer(decision, notification.tid);
    if (given.err == 0) {
      (void)notify_continue(listener_.get(), notification.id);  // a caller that died needs no answer
      continue;
    }
    (void)notify_deny(listener_.get(), notification.id, given.err);
    if (!frozen_ && given.record) violations_.add("seccomp", decision.what, decision.detail, errno_name(given.err));
    if (!cause && given.cause) cause = std::move(given.cause);
  }
  return cause;
}

}  // namespace podjail
