#include "run/supervision.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/units.h"
#include "isolation/verify.h"
#include "result/write.h"
#include "run/granted.h"
#include "run/held_signals.h"
#include "run/limits_watch.h"
#include "run/signal_origin.h"
#include "sys/files.h"
#include "sys/landlock_abi.h"
#include "sys/seccomp_notify.h"

namespace podjail {
namespace {

using std::chrono::milliseconds;

constexpr auto kSetupTime = milliseconds(30000);       // interpreter start and filters; seconds on a throttled node
constexpr auto kValidationTime = milliseconds(10000);  // one file
constexpr auto kKillTime = milliseconds(5000);         // until the tree is given up as unkillable (a thread in D state)
constexpr auto kDrainTime = milliseconds(1000);        // a pipe end that got out of the tree can't hold up the result
constexpr std::uint64_t kValidationMemory = 256U << 20;
constexpr int kMaxReports = 8;  // the runner sends one
constexpr std::size_t kMaxVerdict = 4U << 20;
constexpr std::size_t kReportOverhead = 1U << 20;  // exception, traceback and escapes, beside limits.return_value
constexpr int kPipeSize = 256 << 10;
constexpr int kFirstFreeFd = 10;  // spawn lays descriptors to 0..4

// The same descriptor at a number that spawn doesn't overwrite.
Expected<Fd> moved_up(int fd) {
  Fd moved(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFreeFd));
  ::close(fd);
  if (!moved.valid()) return fail("fcntl(F_DUPFD_CLOEXEC)", errno);
  return moved;
}

struct Pair {
  Fd ours, theirs;
};

Expected<Pair> pipe_to_us() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("pipe2", errno);
  ::fcntl(ends[0], F_SETPIPE_SZ, kPipeSize);  // fewer turns of the loop; refused (the user's pipe pages are used up) is fine too
  Pair pair{TRY(moved_up(ends[0])), TRY(moved_up(ends[1]))};
  if (::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK) != 0) return fail("fcntl(O_NONBLOCK)", errno);
  return pair;
}

std::string exit_text(int status) {
  if (WIFSIGNALED(status)) return "was killed by " + signal_name(WTERMSIG(status));
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Supervision::Supervision(Prepared& prepared, const Policy& policy, StreamTargets targets, std::string landlock_probe)
    : prepared_(prepared),
      policy_(policy),
      targets_(std::move(targets)),
      landlock_probe_(std::move(landlock_probe)),
      control_reader_(kMaxVerdict, 1),
      report_reader_(6 * policy.limits.return_value + kReportOverhead, 0),
      out_capture_("stdout.log", std::move(targets_.stdout_file), policy.limits.stdout_kept, policy.result_text),
      err_capture_("stderr.log", std::move(targets_.stderr_file), policy.limits.stderr_kept, policy.result_text),
      out_live_(targets_.stdout_live),
      err_live_(targets_.stderr_live) {
  out_.evidence.memory_limit = policy.limits.memory;
  out_.evidence.cpu_limit = policy.limits.cpu;
  out_.evidence.file_size_limit = policy.limits.file_size;
}

Expected<void> Supervision::watch_signals() {
  hold_signals();
  const sigset_t watched = watched_signals();
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = Fd(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.valid()) return fail("signalfd", errno);
  return loop_->add(signals_.get(), EPOLLIN, [this](std::uint32_t) { on_signal(); });
}

Expected<void> Supervision::open_streams(SpawnSpec& spec, std::vector<Fd>& child_ends) {
  const auto give = [&child_ends](int& place, Fd end) {
    place = end.get();
    child_ends.push_back(std::move(end));
  };
  Pair out = TRY(pipe_to_us()), err = TRY(pipe_to_us());
  give(spec.stdout_fd, std::move(out.theirs));
  give(spec.stderr_fd, std::move(err.theirs));
  stdout_ = std::move(out.ours);
  stderr_ = std::move(err.ours);
  TRY_VOID(loop_->add(stdout_.get(), EPOLLIN, [this](std::uint32_t) { on_stream(stdout_.get(), out_capture_, out_live_); }));
  TRY_VOID(loop_->add(stderr_.get(), EPOLLIN, [this](std::uint32_t) { on_stream(stderr_.get(), err_capture_, err_live_); }));

  if (targets_.pass_stdin) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return fail("pipe2", errno);
    give(spec.stdin_fd, TRY(moved_up(ends[0])));
    stdin_relay_.emplace(*loop_, STDIN_FILENO, TRY(moved_up(ends[1])));
  } else {
    Fd null = TRY(open_at(AT_FDCWD, "/dev/null", O_RDONLY));
    give(spec.stdin_fd, TRY(moved_up(null.release())));
  }

  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return fail("socketpair", errno);
  control_ = TRY(moved_up(sockets[0]));
  give(spec.control_fd, TRY(moved_up(sockets[1])));
  TRY_VOID(loop_->add(control_.get(), EPOLLIN, [this](std::uint32_t) { on_control(); }));
  if (!prepared_.jobs.empty()) {
    Pair report = TRY(pipe_to_us());
    report_ = std::move(report.ours);
    give(spec.report_fd, std::move(report.theirs));
    TRY_VOID(loop_->add(report_.get(), EPOLLIN, [this](std::uint32_t) { on_report(); }));
  }
  return {};
}

Expected<void> Supervision::start() {
  loop_ = TRY(Loop::make());
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return fail("prctl(PR_SET_CHILD_SUBREAPER)", errno);
  TRY_VOID(watch_signals());
  SpawnSpec spec;
  std::vector<Fd> child_ends;
  TRY_VOID(open_streams(spec, child_ends));
  Fd ruleset;
  if (prepared_.plan.landlock.on) {
    ruleset = TRY(make_landlock_ruleset(prepared_.plan.landlock));
    ruleset = TRY(moved_up(ruleset.release()));
  }
  spec.enter = {prepared_.plan.rlimits.data(), prepared_.plan.rlimits.size(), ruleset.valid() ? ruleset.get() : -1,
                prepared_.plan.landlock.own_proc};
  spec.path = prepared_.path;
  spec.argv = prepared_.argv;
  spec.env = prepared_.env;
  spec.cwd = prepared_.cwd;
  const bool command = prepared_.jobs.empty();
  const auto compile = [this]() -> Expected<void> {
    if (prepared_.plan.seccomp.on) program_ = TRY(compile_seccomp(prepared_.plan.seccomp, ::getpid()));
    return {};
  };
  if (command) {
    TRY_VOID(compile());
    spec.program = prepared_.plan.seccomp.on ? &program_ : nullptr;
    spec.landlock_probe = prepared_.plan.landlock.on ? landlock_probe_ : "";
  }
  const LandlockPlan& landlock = prepared_.plan.landlock;
  shared_memory_.emplace(!landlock.on || (granted(landlock, "/dev/shm") & landlock::kMakeReg) != 0);
  forked_at_ = step_at_ = Monotonic::now();
  child_ = TRY(spawn(spec));
  const SeccompPlan& seccomp = prepared_.plan.seccomp;
  tree_.emplace(child_.pid, seccomp.on && !seccomp.processes && seccomp.allow.empty());
  phase_ = command ? Phase::confining : Phase::starting;
  phase_deadline_ = forked_at_ + kSetupTime;
  next_tick_ = forked_at_;
  if (!command) {
    TRY_VOID(compile());  // while the interpreter starts
    TRY_VOID(send_confine());
  }
  return {};
}

void Supervision::close_source(Fd& fd) {
  if (fd.valid()) loop_->remove(fd.get());
  fd.reset();
}

// --- signals ---------------------------------------------------------------------------------------------------------------------

void Supervision::on_signal() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;  // reaping is done every turn
    const auto sender = static_cast<pid_t>(info.ssi_pid);
    if (!came_from_outside(signal, info.ssi_code, sender > 0 && tree_->contains(sender))) {
      violations_.add("signal", signal_name(signal), "sent to the supervisor from within the jail", "ignored");
      continue;
    }
    if (!out_.evidence.first) stop(cancellation(signal), false, signal == SIGINT ? SIGINT : SIGTERM);
  }
}

// --- the way to "go" -------------------------------------------------------------------------------------------------------------

void Supervision::on_control() {
  while (control_.valid()) {
    wire::Frame frame;
    const auto state = control_reader_.read(control_.get(), frame);
    if (state && *state == wire::FrameReader::State::more) return;
    if (state && *state == wire::FrameReader::State::end) return close_source(control_);
    Expected<void> handled = state ? handle_frame(std::move(frame)) : std::unexpected(state.error());
    if (!handled) return stop({Status::internal_error, "setup", handled.error().message(), true}, true);
  }
}

Expected<void> Supervision::handle_frame(wire::Frame frame) {
  if (out_.evidence.first) return {};
  if (frame.type == wire::Type::hello && phase_ == Phase::starting) {
    const wire::Hello hello = TRY(wire::decode_hello(frame.payload));
    out_.python_version = hello.python_version;
    out_.timings["interpreter"] = seconds_since(step_at_);
    if (!hello.error.empty()) {
      stop({Status::internal_error, "runner_mismatch", hello.error, true}, true);
      return {};
    }
    phase_ = Phase::confining;
    step_at_ = Monotonic::now();
    return {};
  }
  if (frame.type == wire::Type::confined && phase_ == Phase::confining) return handle_confined(frame);
  if (frame.type == wire::Type::verdict && phase_ == Phase::validating) return handle_verdict(frame);
  return fail("the runner sent a message that isn't due");
}

// Ahead of "hello": the runner finds it when its interpreter is up, and no time is lost between the two.
Expected<void> Supervision::send_confine() {
  wire::Confine confine;
  confine.guard = program_.guard;
  confine.allow_list = program_.allow_list;
  confine.fallback = program_.fallback;
  confine.listener = program_.listener;
  confine.landlock_probe = prepared_.plan.landlock.on ? landlock_probe_ : "";
  return wire::send_frame(control_.get(), wire::Type::confine, wire::encode(confine));
}

// Verified from outside, before the first byte of the script is sent.
Expected<void> Supervision::handle_confined(wire::Frame& frame) {
  const wire::Confined confined = TRY(wire::decode_confined(frame.payload));
  if (!confined.error.empty()) {
    stop({Status::isolation_unavailable, "seccomp", confined.error, true}, true);
    return {};
  }
  ChildReport report{confined.landlock_probe_err, !frame.fds.empty(), confined.listener_err};
  const ProcStatus status = TRY(read_proc_status(child_.pid));
  auto layers = verify_confinement(prepared_.plan, prepared_.facts, status, report);
  if (!layers) {
    stop({Status::isolation_unavailable, layers.error().subject, layers.error().message(), true}, true);
    return {};
  }
  out_.layers = *std::move(layers);
  if (!frame.fds.empty()) {
    notify_.emplace(std::move(frame.fds.front()), prepared_.plan.seccomp, policy_.limits, *tree_, *shared_memory_, violations_);
    notify_wake_synchronously(notify_->fd());
    TRY_VOID(loop_->add(notify_->fd(), EPOLLIN, [this](std::uint32_t events) { on_notification(events); }));
  }
  out_.timings["jail"] = seconds_since(step_at_);
  step_at_ = Monotonic::now();
  if (prepared_.jobs.empty()) {
    say_go();
    return {};
  }
  tighten_for_validation();
  phase_ = Phase::validating;
  return send_job();
}

Expected<void> Supervision::send_job() {
  const JobItem& item = prepared_.jobs[next_job_];
  std::vector<int> fds{item.source.get()};
  if (item.job.has_payload) fds.push_back(prepared_.payload.get());
  phase_deadline_ = Monotonic::now() + kValidationTime;
  return wire::send_frame(control_.get(), wire::Type::job, wire::encode(item.job), fds);
}

// Of a run, all files are checked before it is refused for one, so that its author sees everything at once.
Expected<void> Supervision::handle_verdict(const wire::Frame& frame) {
  wire::Verdict verdict = TRY(wire::decode_verdict(frame.payload));
  const wire::Job& job = prepared_.jobs[next_job_].job;
  const bool for_a_run = prepared_.jobs.back().job.mode == wire::Job::Mode::run;
  if (for_a_run && !refusal_ && verdict.verdict != "accepted") {
    const Status status = verdict.verdict == "invalid_input" ? Status::invalid_input : Status::rejected;
    refusal_ = Cause{status, verdict.reason, job.name + ": " + verdict.message, true};
  }
  for (wire::Finding& finding : verdict.findings) finding.file = job.name;
  out_.verdicts.push_back(std::move(verdict));
  if (++next_job_ < prepared_.jobs.size()) return send_job();
  out_.timings["validation"] = seconds_since(step_at_);
  if (refusal_) {
    stop(*std::move(refusal_), true);
    return {};
  }
  if (for_a_run) {
    say_go();
    return {};
  }
  phase_deadline_ = Monotonic::now() + kSetupTime;
  return wire::send_frame(control_.get(), wire::Type::done, "");
}

void Supervision::tighten_for_validation() {
  for (const RlimitPlan& limit : prepared_.plan.rlimits) {
    if (limit.resource == RLIMIT_DATA) (void)set_soft_limit(child_.pid, RLIMIT_DATA, std::min(limit.soft, kValidationMemory));
  }
}

void Supervision::raise_limits() {
  for (const RlimitPlan& limit : prepared_.plan.rlimits) {
    if (limit.resource != RLIMIT_DATA) continue;
    if (auto raised = set_soft_limit(child_.pid, RLIMIT_DATA, limit.soft); !raised) {
      stop({Status::internal_error, "setup", raised.error().message(), true}, true);
    }
  }
}

void Supervision::say_go() {
  if (!prepared_.jobs.empty()) raise_limits();
  if (out_.evidence.first) return;
  if (Fd score = open_at(AT_FDCWD, "/proc/" + std::to_string(child_.pid) + "/oom_score_adj", O_WRONLY).value_or(Fd()); score.valid()) {
    (void)write_all(score.get(), "1000");  // if the kernel must choose, the script and not the supervisor; best effort
  }
  if (stdin_relay_) {
    if (auto relayed = stdin_relay_->start(); !relayed)
      return stop({Status::internal_error, "setup", relayed.error().message(), true}, true);
  }
  out_.started_at = utc_now();
  phase_ = Phase::running;
  phase_deadline_.reset();
  go_at_ = Monotonic::now();
  violations_.start(go_at_);
  if (policy_.limits.wall) wall_deadline_ = go_at_ + *policy_.limits.wall;
  next_tick_ = next_scratch_ = next_shared_ = next_named_ = go_at_;
  if (auto sent = wire::send_frame(control_.get(), wire::Type::go, ""); !sent) {
    return stop({Status::internal_error, "setup", sent.error().message(), true}, true);
  }
  close_source(control_);
}

// --- while it runs ---------------------------------------------------------------------------------------------------------------

// One frame a turn, and kMaxReports in all: the script has this pipe too, and must not keep the loop from its timers.
void Supervision::on_report() {
  wire::Frame frame;
  const auto state = report_reader_.read(report_.get(), frame);
  if (state && *state == wire::FrameReader::State::more) return;
  if (!state || *state == wire::FrameReader::State::end || frame.type != wire::Type::ended || ++reports_ > kMaxReports)
    return close_source(report_);
  if (auto ended = wire::decode_ended(frame.payload, policy_.limits.return_value))
    out_.evidence.claim = *std::move(ended);  // a later one replaces it: both are claims
}

void Supervision::on_stream(int fd, StreamCapture& capture, LivePassage& live) {
  std::array<char, 65536> buffer;
  for (int i = 0; i < 16; ++i) {  // bounded work a turn
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) {
      close_source(fd == stdout_.get() ? stdout_ : stderr_);
      break;
    }
    const std::string_view chunk(buffer.data(), static_cast<std::size_t>(n));
    capture.take(chunk);
    live.pass(chunk);
  }
  const auto& limit = policy_.limits.output;
  if (limit && out_capture_.bytes() + err_capture_.bytes() > *limit) {
    stop({Status::output_exceeded, "limits.output", "wrote more than limits.output (" + format_bytes(*limit) + ") to stdout and stderr",
          true},
         true);
  }
  bool& watched = &live == &out_live_ ? out_live_watched_ : err_live_watched_;
  if (live.waiting() && !watched) watched = loop_->add(live.fd(), EPOLLOUT, [this, &live](std::uint32_t) { on_live(live); }).has_value();
}

void Supervision::on_live(LivePassage& live) {
  const int fd = live.fd();
  live.flush();
  if (live.waiting()) return;
  loop_->remove(fd);
  (&live == &out_live_ ? out_live_watched_ : err_live_watched_) = false;
}

void Supervision::on_notification(std::uint32_t events) {
  if ((events & EPOLLHUP) != 0) return loop_->remove(notify_->fd());  // no process is left under the filter
  if (auto cause = notify_->handle()) stop(*std::move(cause), true);
}

// Shared memory counts once, and also what has a name in /dev/shm and is mapped by nobody. The exact sum is slow: only where the quick one,
// which counts shared memory for each of its processes, would end the run.
std::uint64_t Supervision::memory_of(const Tree::Count& count) {
  if (const auto before = Monotonic::now(); before >= next_named_) {
    if (shared_memory_->changed()) shared_memory_->look(tree_->members());
    named_memory_ = shared_memory_->bytes();
    const auto after = Monotonic::now();
    next_named_ = after + 20 * (after - before);  // thousands of files take their time
  }
  const std::uint64_t named = named_memory_;
  const std::uint64_t quick = count.private_memory + count.shared_memory + named;
  if (!over_memory(policy_.limits, quick) || (count.processes < 2 && named == 0)) return quick;
  const std::uint64_t least = count.private_memory + named;
  const auto before = Monotonic::now();
  if (over_memory(policy_.limits, least) || before < next_shared_) return least;
  const std::uint64_t exact = least + tree_->shared_memory_once();
  next_shared_ = next_slow_look(before, Monotonic::now());
  return exact;
}

void Supervision::tick() {
  const auto now = Monotonic::now();
  if (now < next_tick_ || phase_ != Phase::running || killing_) return;
  const Tree::Count count = tree_->count();
  const std::uint64_t memory = memory_of(count);
  const double cpu = count.cpu + tree_->reaped_user() + tree_->reaped_system();
  out_.usage.peak_memory = std::max(out_.usage.peak_memory, memory);
  out_.usage.peak_threads = std::max(out_.usage.peak_threads, count.threads);
  out_.usage.peak_processes = std::max(out_.usage.peak_processes, count.processes);
  if (auto cause = over_memory(policy_.limits, memory)) stop(*std::move(cause), true);
  if (auto cause = over_cpu(policy_.limits, cpu)) stop(*std::move(cause), false);
  if (!notify_ || !prepared_.plan.seccomp.count_tasks) {
    if (auto cause = over_tasks(policy_.limits, count.processes, count.threads)) stop(*std::move(cause), true);
  }
  if (now >= next_scratch_ && (policy_.limits.scratch || policy_.limits.scratch_files)) {
    const TreeSize size = measure_scratch(prepared_.scratch.data_folder(), policy_.limits, false);
    out_.usage.scratch_bytes = std::max(out_.usage.scratch_bytes, size.bytes);
    if (auto cause = over_scratch(policy_.limits, size)) stop(*std::move(cause), true);
    next_scratch_ = next_slow_look(now, Monotonic::now());
  }
  next_tick_ = now + next_look(policy_.limits, memory, cpu, prepared_.facts.cpus);
}

// --- ending ----------------------------------------------------------------------------------------------------------------------

// The first cause wins. `at_once`: KILL, also where an earlier cause still gives the script its grace; otherwise `signal`, and KILL after
// limits.grace. What has not been told "go" is killed in any case.
void Supervision::stop(Cause cause, bool at_once, int signal) {
  if (root_ended_ && phase_ == Phase::running) return;  // it came to its own end before
  if (out_.evidence.first) {
    if (at_once && !killing_) kill_tree();
    return;
  }
  out_.evidence.first = std::move(cause);
  if (notify_) notify_->freeze();
  wall_deadline_.reset();
  phase_deadline_.reset();
  if (at_once || phase_ != Phase::running) return kill_tree();
  (void)signal_pidfd(child_.pidfd.get(), signal);
  kill_deadline_ = Monotonic::now() + policy_.limits.grace;
}

void Supervision::kill_tree() {
  if (!killing_) give_up_ = Monotonic::now() + kKillTime;
  killing_ = true;
  kill_deadline_.reset();
  if (notify_) notify_->freeze();
  const std::uint64_t killed = tree_->kill_all();
  if (root_ended_) out_.usage.killed_leftovers += killed;
}

void Supervision::death_before_verdict() {
  const std::string how = exit_text(out_.evidence.exit_signal ? *out_.evidence.exit_signal : *out_.evidence.exit_code << 8);
  if (phase_ == Phase::validating) {
    wire::Verdict verdict{"rejected", "parser_crash", "CPython's parser " + how + " on this file: it can't be checked", {}};
    verdict.findings.push_back(
        {"PJ002", "too-complex", "error", verdict.message, "split the file, or make its expressions less deep", 0, 0, 0, 0});
    const std::string message = verdict.message;
    out_.verdicts.push_back(std::move(verdict));
    stop({Status::rejected, "parser_crash", message, true}, true);
  } else if (const ChildError error = read_child_error(child_.status.get()); error.err != 0) {
    const std::string message = Error{error.step, error.err, {}}.message();
    if (error.layer != nullptr) return stop({Status::isolation_unavailable, error.layer, message, true}, true);
    stop({Status::internal_error, "setup", message, true}, true);
  } else {
    stop({Status::internal_error, "setup", "podjail-python " + how + " before the script was sent; its stderr may say why", true}, true);
  }
}

void Supervision::on_child_end(const Reaped& end) {
  ended_at_ = Monotonic::now();
  wall_deadline_.reset();
  phase_deadline_.reset();
  if (WIFSIGNALED(end.status)) {
    out_.evidence.exit_signal = WTERMSIG(end.status);
  } else {
    out_.evidence.exit_code = WEXITSTATUS(end.status);
  }
  if (phase_ != Phase::running && !out_.evidence.first && next_job_ < std::max<std::size_t>(prepared_.jobs.size(), 1))
    death_before_verdict();
  if (phase_ == Phase::running && !out_.evidence.first) {
    // What execve(2) refused is known only now: the status pipe holds it.
    if (const ChildError error = read_child_error(child_.status.get()); error.err != 0) {
      stop({Status::invalid_input, error.err == EACCES ? "permission_denied" : "not_a_file",
            "run " + prepared_.path + ": " + Error{error.step, error.err, {}}.message(), true},
           true);
    }
  }
  root_ended_ = true;
  kill_tree();
}

void Supervision::check_deadlines() {
  const auto now = Monotonic::now();
  if (wall_deadline_ && now >= *wall_deadline_) {
    stop({Status::timed_out, "limits.wall", "ran longer than limits.wall (" + format_duration(*policy_.limits.wall) + ")", true}, false);
  }
  if (phase_deadline_ && now >= *phase_deadline_) {
    if (phase_ == Phase::validating) {
      wire::Verdict verdict{"rejected", "too_complex", "checking took longer than " + format_duration(kValidationTime), {}};
      verdict.findings.push_back({"PJ002", "too-complex", "error", verdict.message, "split the file", 0, 0, 0, 0});
      const std::string message = verdict.message;
      out_.verdicts.push_back(std::move(verdict));
      stop({Status::rejected, "too_complex", message, true}, true);
    } else {
      stop({Status::internal_error, "setup", "the interpreter did not start within " + format_duration(kSetupTime), true}, true);
    }
  }
  if (kill_deadline_ && now >= *kill_deadline_) kill_tree();
  tick();
}

Monotonic::time_point Supervision::next_deadline() const {
  if (tree_->more_to_reap()) return Monotonic::now();
  auto next = Monotonic::now() + std::chrono::hours(1);
  for (const auto& deadline : {phase_deadline_, wall_deadline_, kill_deadline_, give_up_}) {
    if (deadline) next = std::min(next, *deadline);
  }
  if (phase_ == Phase::running && !root_ended_ && !killing_) next = std::min(next, next_tick_);
  if (killing_ && !tree_->empty()) next = std::min(next, Monotonic::now() + milliseconds(2));  // what was forked between list and kill
  return next;
}

Supervised Supervision::finish(const std::function<Expected<void>()>& started) {
  if (started) {
    const auto before = Monotonic::now();
    if (auto published = started(); !published) stop({Status::internal_error, "write_failed", published.error().message(), true}, true);
    out_.timings["publish"] = seconds_since(before);
  }
  while (true) {
    if (auto turned = loop_->turn(next_deadline()); !turned) stop({Status::internal_error, "setup", turned.error().message(), true}, true);
    if (auto end = tree_->reap()) on_child_end(*end);
    check_deadlines();
    if (killing_ && !tree_->empty()) kill_tree();
    if (tree_->empty()) {
      if (!streams_open() && !report_.valid()) break;
      if (!draining_) give_up_ = Monotonic::now() + kDrainTime;
      draining_ = true;
    }
    if (give_up_ && Monotonic::now() >= *give_up_) break;
  }
  out_.unkillable = !tree_->empty();
  shared_memory_->remove();
  if (go_at_ != Monotonic::time_point{}) {
    out_.usage.wall = seconds_since(go_at_, ended_at_ == Monotonic::time_point{} ? Monotonic::now() : ended_at_);
    out_.timings["run"] = out_.usage.wall;
  }
  out_.usage.user = tree_->reaped_user();
  out_.usage.system = tree_->reaped_system();
  out_.usage.peak_memory = std::max(out_.usage.peak_memory, tree_->peak_rss());
  if (notify_) {
    out_.usage.peak_processes = std::max(out_.usage.peak_processes, notify_->peak_processes());
    out_.usage.peak_threads = std::max(out_.usage.peak_threads, notify_->peak_threads());
  }
  if (!out_.started_at.empty() && (policy_.limits.scratch || policy_.limits.scratch_files)) {
    const TreeSize size = measure_scratch(prepared_.scratch.data_folder(), policy_.limits, true);
    out_.usage.scratch_bytes = std::max(out_.usage.scratch_bytes, size.bytes);
    out_.evidence.late = over_scratch(policy_.limits, size);
  }
  out_.violations = violations_.list();
  out_.out = out_capture_.finish();
  out_.err = err_capture_.finish();
  return std::move(out_);
}

bool Supervision::open_line() const {
  return err_live_.open_line() || (out_live_.open_line() && ::isatty(STDOUT_FILENO) == 1);
}

void Supervision::flush_live() {
  constexpr int kPatience = 10000;  // ms without any progress
  for (LivePassage* live : {&out_live_, &err_live_}) {
    while (live->waiting()) {
      pollfd ready{live->fd(), POLLOUT, 0};
      if (::poll(&ready, 1, kPatience) <= 0) break;
      live->flush();
    }
  }
}

}  // namespace podjail
