#include "run/run.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "isolation/supervisor_guard.h"
#include "policy/parse.h"
#include "result/store.h"
#include "result/write.h"
#include "run/artifacts.h"
#include "run/held_signals.h"
#include "run/hints.h"
#include "run/prepare.h"
#include "run/supervision.h"

namespace podjail {
namespace {

std::string environment_or_empty(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  ::arc4random_buf(bytes.data(), bytes.size());
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);  // RFC 9562, version 4
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) id += '-';
    id += kDigits[bytes[i] >> 4];
    id += kDigits[bytes[i] & 15];
  }
  return id;
}

void set_ending(Result& result, const Cause& cause) {
  result.status = cause.status;
  result.reason = cause.reason;
  result.message = cause.message;
  result.observed = cause.observed;
}

// Fills what the supervised tree left behind.
void take(Result& result, Supervised supervised, bool function_mode) {
  supervised.evidence.function_mode = function_mode;
  set_ending(result, decide_ending(supervised.evidence));
  if (supervised.unkillable)
    result.message += (result.message.empty() ? "" : "; ") + std::string("not all of its processes could be killed");
  result.run.started_at = supervised.started_at;
  result.script.claim = std::move(supervised.evidence.claim);
  result.exit.code = supervised.started_at.empty() ? std::nullopt : supervised.evidence.exit_code;
  result.exit.signal = supervised.started_at.empty() ? std::nullopt : supervised.evidence.exit_signal;
  for (wire::Verdict& verdict : supervised.verdicts) {
    if (!result.validation) {
      result.validation = std::move(verdict);
      continue;
    }
    wire::Verdict& all = *result.validation;
    if (all.verdict == "accepted") all.verdict = verdict.verdict;  // of several files, the first that is not accepted gives the verdict
    std::move(verdict.findings.begin(), verdict.findings.end(), std::back_inserter(all.findings));
  }
  if (!supervised.layers.empty()) result.layers = std::move(supervised.layers);
  result.violations = std::move(supervised.violations);
  if (!supervised.started_at.empty()) result.usage = supervised.usage;
  result.out = std::move(supervised.out);
  result.err = std::move(supervised.err);
  result.timings = std::move(supervised.timings);
  result.supervisor.python = supervised.python_version;
}

// One run from an open result folder on. Everything that goes wrong becomes the result's ending.
class Attempt {
 public:
  Attempt(const RunRequest& request, ResultStore& store, Result& result) : request_(request), store_(store), result_(result) {}

  void go() {
    auto policy = load_policy(request_.policy, request_.sets);
    if (!policy) {
      std::string all;
      for (const PolicyProblem& problem : policy.error()) all += (all.empty() ? "" : "\n") + describe(problem);
      return set_ending(result_, {Status::invalid_policy, "policy", all, true});
    }
    policy_ = *std::move(policy);
    if (request_.timeout) policy_.limits.wall = request_.timeout;
    result_.policy_name = policy_.name;
    result_.policy_sha256 = policy_.sha256;
    result_.limits = policy_.limits;
    auto prepared = prepare_run(request_, policy_, store_.path(), result_);
    if (!prepared) return set_ending(result_, prepared.error());
    prepared_.emplace(*std::move(prepared));
    if (auto guarded = drop_own_capabilities(); !guarded)
      return set_ending(result_, {Status::internal_error, "setup", guarded.error().message(), true});
    supervise();
  }

  [[nodiscard]] bool idempotent() const { return policy_.idempotent; }

  void free_scratch() {
    if (prepared_) (void)prepared_->scratch.remove();
  }

  [[nodiscard]] bool open_line() const { return supervision_ && supervision_->open_line(); }

  // After the result is out: what is left of the run on this machine.
  void clean_up() {
    if (supervision_) supervision_->flush_live();
    prepared_.reset();
  }

 private:
  void supervise() {
    StreamTargets targets;
    for (auto [name, file] : {std::pair{"stdout.log", &targets.stdout_file}, std::pair{"stderr.log", &targets.stderr_file}}) {
      auto created = store_.create_file(name);
      if (!created) return set_ending(result_, {Status::internal_error, "write_failed", created.error().message(), true});
      *file = *std::move(created);
    }
    targets.stdout_live = request_.live ? STDOUT_FILENO : -1;
    targets.stderr_live = request_.live ? STDERR_FILENO : -1;
    targets.pass_stdin = request_.pass_stdin;
    supervision_.emplace(*prepared_, policy_, std::move(targets), store_.path() + "/stdout.log");
    if (auto started = supervision_->start(); !started)
      return set_ending(result_, {Status::internal_error, "setup", started.error().message(), true});
    const auto publish_started = [this] { return store_.publish(to_json(result_)); };
    Supervised supervised = supervision_->finish(publish_started);
    const bool ran = !supervised.started_at.empty(), unkillable = supervised.unkillable;
    take(result_, std::move(supervised), request_.function.has_value());
    if (!ran) return;
    if (result_.status == Status::failed) {
      if (const std::string hint = hint_for(result_, request_, *prepared_); !hint.empty()) result_.message += "; " + hint;
    }
    store_.restore_mode();
    // Files of the input lie in task/ and work/ under one inode each: an artifact with a second name would be refused.
    if (prepared_->input) prepared_->scratch.remove_task();
    auto artifacts = collect_artifacts(prepared_->scratch.data_folder(), store_.folder(), policy_.limits, link_targets(unkillable));
    if (artifacts) {
      result_.artifacts = *std::move(artifacts);
    } else {
      ++result_.artifacts.found;
      result_.artifacts.refuse(".", "write_failed");
    }
  }

  [[nodiscard]] LinkTargets link_targets(bool unkillable) const {
    const Scratch& scratch = prepared_->scratch;
    if (!prepared_->input || unkillable) return {};
    std::error_code error;
    const std::string input = std::filesystem::canonical(prepared_->input->folder, error).string();
    return {scratch.output(), scratch.work(), scratch.task(), error ? prepared_->input->folder : input, &*prepared_->input};
  }

  const RunRequest& request_;
  ResultStore& store_;
  Result& result_;
  Policy policy_;
  std::optional<Prepared> prepared_;
  std::optional<Supervision> supervision_;
};

}  // namespace

RunOutcome run(const RunRequest& request) {
  hold_signals();
  RunOutcome outcome;
  Result& result = outcome.result;
  result.run.id = request.run_id.empty() ? random_id() : request.run_id;
  result.run.created_at = utc_now();
  result.run.job = environment_or_empty("PODJAIL_JOB");
  result.run.pod = environment_or_empty("PODJAIL_POD");
  result.run.pod_uid = environment_or_empty("PODJAIL_POD_UID");
  result.run.node = environment_or_empty("PODJAIL_NODE");

  auto store = ResultStore::open(request.out);
  if (!store) {
    outcome.publish_error = store.error().message();
    result.status = Status::internal_error;
    result.reason = "write_failed";
    result.message = outcome.publish_error;
    result.exit.supervisor_code = exit_code::kResultNotWritten;
    write_termination_message(to_termination_message(result, ""));
    return outcome;
  }
  outcome.record_path = store->path() + "/result.json";
  bool start = true;
  if (const auto earlier = store->earlier(); earlier && !request.run_id.empty() && earlier->run_id == request.run_id) {
    if (earlier->status != Status::running && !(earlier->status == Status::interrupted && request.retry_interrupted)) {
      outcome.replayed = true;
      result.status = earlier->status;
      result.exit.code = earlier->code;
      result.exit.signal = earlier->signal;
      return outcome;
    }
    result.run.attempt = earlier->attempt + (request.retry_interrupted ? 1 : 0);
    if (!request.retry_interrupted) {
      start = false;
      set_ending(
          result,
          {Status::interrupted, "lost_supervisor",
           "attempt " + std::to_string(earlier->attempt) +
               " of this run left only its `running` record: it may have had effects, so it isn't run again (--retry-interrupted does)",
           true});
    }
  }
  Attempt attempt(request, *store, result);
  if (start) {
    auto cleared = store->clear();
    if (cleared) {
      attempt.go();
    } else {
      set_ending(result, {Status::internal_error, "write_failed", cleared.error().message(), true});
    }
  }
  // Never started, or the policy says that a second time does no harm. An attempt that was lost may have started.
  result.retry_safe = start && (result.run.started_at.empty() || (attempt.idempotent() && result.status != Status::succeeded));
  result.run.finished_at = utc_now();
  result.exit.supervisor_code = exit_code_of(result.status);
  std::string record = to_json(result);
  auto published = store->publish(record);
  if (!published && (published.error().err == ENOSPC || published.error().err == EDQUOT)) {
    // The record matters more than what the script left.
    attempt.free_scratch();
    for (const auto& file : result.artifacts.files) result.artifacts.refuse(file.path, "write_failed");
    result.artifacts.files.clear();
    (void)store->remove_artifacts();
    record = to_json(result);
    published = store->publish(record);
  }
  outcome.published = published.has_value();
  if (!published) {
    outcome.publish_error = published.error().message() + " in " + store->path();
    result.exit.supervisor_code = exit_code::kResultNotWritten;
  }
  write_termination_message(to_termination_message(result, record));
  outcome.open_line = attempt.open_line();
  attempt.clean_up();
  return outcome;
}

}  // namespace podjail
