#pragma once
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isolation/seccomp_program.h"
#include "run/ending.h"
#include "run/loop.h"
#include "run/notify.h"
#include "run/prepare.h"
#include "run/spawn.h"
#include "run/stdin_relay.h"
#include "run/streams.h"
#include "run/tree.h"
#include "run/violations.h"
#include "wire/wire.h"

namespace podjail {

/// Where the script's streams go while it runs.
struct StreamTargets {
  Fd stdout_file, stderr_file;             ///< stdout.log and stderr.log, written as the head comes in
  int stdout_live = -1, stderr_live = -1;  ///< podjail's own streams, or -1
  bool pass_stdin = false;
};

/// What one supervised process tree left behind.
struct Supervised {
  Evidence evidence;
  std::vector<wire::Verdict> verdicts;  ///< one per job that got one, in order; the job that killed the checker gets a finding of ours
  std::string python_version;
  std::vector<LayerReport> layers;  ///< empty: the run ended before they were verified
  std::vector<Violation> violations;
  Result::Usage usage;
  StreamReport out, err;
  std::map<std::string, double> timings;
  bool unkillable = false;  ///< given up with processes still alive
  std::string started_at;   ///< RFC 3339, when "go" was said; empty: never
};

/// Spawns what `prepared` describes and sees it through: confinement, verification, verdicts, limits, signals, streams, until the whole
/// tree is dead and every stream is read. One thread, one loop; a second one in the same process is not supported (signals, subreaper).
class Supervision {
 public:
  /// `landlock_probe`: an existing file that this UID may write and the plan doesn't let the child write; the child must fail to open it.
  Supervision(Prepared& prepared, const Policy& policy, StreamTargets targets, std::string landlock_probe);

  /// Forks. Errors: the run can't start.
  Expected<void> start();

  /// Runs the loop to the end. `started`, if given, is called once between fork and the first word to the child, while its interpreter
  /// starts (it publishes the started record): its error ends the run.
  Supervised finish(const std::function<Expected<void>()>& started);

  /// After the result is published: what podjail's own stdout and stderr have not taken yet, as long as their readers go on reading.
  void flush_live();

  /// Whether podjail's stderr, or its terminal, stands within a line of the script's.
  [[nodiscard]] bool open_line() const;

 private:
  enum class Phase { starting, confining, validating, running };

  Expected<void> open_streams(SpawnSpec& spec, std::vector<Fd>& child_ends);
  Expected<void> watch_signals();
  void on_signal();
  void on_control();
  void on_report();
  void on_stream(int fd, StreamCapture& capture, LivePassage& live);
  void on_live(LivePassage& live);
  void on_notification(std::uint32_t events);
  void on_child_end(const Reaped& end);

  Expected<void> handle_frame(wire::Frame frame);
  Expected<void> handle_confined(wire::Frame& frame);
  Expected<void> handle_verdict(const wire::Frame& frame);
  Expected<void> send_confine();
  Expected<void> send_job();
  void say_go();
  void tighten_for_validation();
  void raise_limits();

  void stop(Cause cause, bool at_once, int signal = SIGTERM);
  void kill_tree();
  void tick();
  std::uint64_t memory_of(const Tree::Count& count);
  void check_deadlines();
  [[nodiscard]] Monotonic::time_point next_deadline() const;
  void close_source(Fd& fd);
  [[nodiscard]] bool streams_open() const { return stdout_.valid() || stderr_.valid(); }
  void death_before_verdict();

  Prepared& prepared_;
  const Policy& policy_;
  StreamTargets targets_;
  std::string landlock_probe_;

  Phase phase_ = Phase::starting;
  std::optional<Loop> loop_;
  std::optional<Tree> tree_;
  std::optional<SharedMemory> shared_memory_;
  std::optional<NotifyHandler> notify_;
  std::optional<StdinRelay> stdin_relay_;
  ViolationLog violations_;
  SeccompProgram program_;
  Spawned child_;
  Fd signals_, control_, report_, stdout_, stderr_;
  wire::FrameReader control_reader_, report_reader_;
  StreamCapture out_capture_, err_capture_;
  LivePassage out_live_, err_live_;
  bool out_live_watched_ = false, err_live_watched_ = false;

  std::size_t next_job_ = 0;
  std::optional<Cause> refusal_;  ///< the first file of a run that was not accepted
  int reports_ = 0;
  bool root_ended_ = false, killing_ = false, draining_ = false;
  std::optional<Monotonic::time_point> phase_deadline_, wall_deadline_, kill_deadline_, give_up_;
  Monotonic::time_point next_tick_, next_scratch_, next_shared_, next_named_, forked_at_, step_at_, go_at_, ended_at_;
  std::uint64_t named_memory_ = 0;  ///< of files in /dev/shm, at the last look
  Supervised out_;
};

}  // namespace podjail
