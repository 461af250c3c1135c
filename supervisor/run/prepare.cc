#include "run/prepare.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/sha256.h"
#include "isolation/probe.h"
#include "isolation/seccomp_program.h"
#include "policy/profiles.h"
#include "run/environment.h"
#include "run/held_signals.h"
#include "run/lay_input.h"
#include "run/result_guard.h"
#include "sys/files.h"

extern char** environ;

namespace podjail {
namespace {

std::unexpected<Cause> stop(Status status, std::string reason, std::string message) {
  return std::unexpected(Cause{status, std::move(reason), std::move(message), true});
}
std::unexpected<Cause> stop(const InputProblem& problem) {
  return stop(Status::invalid_input, problem.reason, problem.message);
}
std::unexpected<Cause> setup_failed(const Error& error) {
  return stop(Status::internal_error, "setup", error.message());
}

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> own;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) own.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return own;
}

wire::Job make_job(const Policy& policy, wire::Job::Mode mode, std::string name) {
  wire::Job job;
  job.mode = mode;
  job.name = std::move(name);
  job.python_paths = policy.python.paths;
  job.validate = policy.validation.enabled;
  job.deny_imports = policy.validation.deny_imports;
  job.allow_imports = policy.validation.allow_imports;
  job.deny_builtins = policy.validation.deny_builtins;
  for (const auto& [id, severity] : policy.validation.rules) {
    job.rules.emplace_back(id, severity == Severity::off ? "off" : severity == Severity::warn ? "warn" : "error");
  }
  job.suppressions = policy.validation.suppressions;
  job.max_script = policy.validation.max_script;
  job.return_value_limit = policy.limits.return_value;
  return job;
}

Expected<JobItem> make_item(wire::Job job, std::string_view bytes) {
  return JobItem{std::move(job), TRY(sealed_memfd("podjail-script", bytes))};
}

// The names by which the entries of the input folder can be imported.
std::vector<std::string> local_modules(const InputTree& tree) {
  std::vector<std::string> modules;
  modules.reserve(tree.top.size());
  for (const std::string& name : tree.top) modules.push_back(std::filesystem::path(name).stem().string());
  return modules;
}

EnvironmentFacts environment_facts(const Scratch& scratch, const PodFacts& facts, const std::string& input, const std::string& run_id) {
  return {own_environment(), scratch.work(), scratch.output(), scratch.tmp(), scratch.home(), input, run_id, facts.cpus};
}

std::string value_of(const std::vector<std::string>& env, std::string_view name) {
  for (const std::string& entry : env) {
    if (entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=') return entry.substr(name.size() + 1);
  }
  return {};
}

// The plan for these paths, or what the policy names and the kernel doesn't know, or the layer that the policy requires and this pod lacks.
std::expected<void, Cause> plan_into(Prepared& prepared, const Policy& policy, const RunPaths& paths) {
  if (auto known = check_syscall_names(policy.syscalls); !known) return stop(Status::invalid_policy, "policy", known.error().message());
  prepared.plan = make_plan(policy, prepared.facts, paths);
  if (auto missing = missing_requirement(prepared.plan, policy); !missing) {
    return stop(Status::isolation_unavailable, missing.error().subject, missing.error().step);
  }
  return {};
}

void report_plan(Result& result, const Plan& plan) {
  result.tier = plan.tier;
  result.layers.clear();
  for (const LayerPlan& layer : plan.layers) {
    result.layers.push_back(
        {layer.layer, layer.required, false, layer.mechanism, layer.planned ? "the run ended before it was verified" : layer.reason});
  }
}

// Each Python file of the input as a job of its own: what can be imported is validated like the script. -> path and bytes of each.
std::expected<std::map<std::string, std::string>, Cause> add_neighbours(Prepared& prepared, const Policy& policy, const InputTree& tree,
                                                                        const std::string& script_name,
                                                                        const std::vector<std::string>& modules) {
  constexpr std::size_t kMaxFiles = 2000;
  std::map<std::string, std::string> validated;
  for (const InputEntry& entry : tree.entries) {
    if (!entry.python || entry.path == script_name) continue;
    const auto source = open_within(tree.root.get(), entry.source, O_RDONLY | O_NONBLOCK);
    auto bytes = source ? read_all(source->get(), policy.validation.max_script) : Expected<std::string>(std::unexpected(source.error()));
    if (!bytes) return stop(Status::invalid_input, "input", entry.path + ": " + bytes.error().message());
    if (validated.size() == kMaxFiles)
      return stop(Status::invalid_input, "input", "more than " + std::to_string(kMaxFiles) + " Python files in " + tree.folder);
    wire::Job job = make_job(policy, wire::Job::Mode::check, entry.path);
    job.local_modules = modules;
    auto item = make_item(std::move(job), *bytes);
    if (!item) return setup_failed(item.error());
    prepared.jobs.push_back(*std::move(item));
    validated.emplace(entry.path, *std::move(bytes));
  }
  return validated;
}

// -> the names that can be imported from it. `hidden`: the entry that holds the result folder; what podjail writes is no part of the task.
std::expected<std::vector<std::string>, Cause> add_input(Prepared& prepared, const RunRequest& request, const Policy& policy,
                                                         const ScriptInput& script, const std::string& hidden, RunPaths& paths) {
  if (hidden == ".") return stop(Status::invalid_input, "input", "--out and --input are the same folder: choose another --out");
  paths.input_dir = *script.input_dir;
  auto tree = read_input_tree(*script.input_dir, hidden);
  if (!tree) return stop(Status::invalid_input, "input", tree.error().message());
  if (!hidden.empty()) {
    for (const std::string& name : tree->top) paths.input_entries.push_back(tree->folder + "/" + name);
  }
  if (request.input_mode == RunRequest::InputMode::copy) {
    if (auto fits = check_input_fits(*tree, policy.limits); !fits) return stop(Status::invalid_input, "input", fits.error().message());
  }
  std::vector<std::string> modules = local_modules(*tree);
  InputLayout layout{request.input_mode, script.name, {}, [] { return waiting_cancellation().has_value(); }};
  if (policy.validation.enabled) {
    auto validated = add_neighbours(prepared, policy, *tree, script.name, modules);
    if (!validated) return std::unexpected(validated.error());
    layout.validated = *std::move(validated);
  }
  if (auto laid = lay_input(*tree, prepared.scratch, layout); !laid) {
    if (auto cancelled = waiting_cancellation()) return std::unexpected(*std::move(cancelled));
    return setup_failed(laid.error());
  }
  prepared.input = *std::move(tree);
  return modules;
}

std::expected<void, Cause> add_script(Prepared& prepared, const RunRequest& request, const Policy& policy, const std::string& out,
                                      Result& result, RunPaths& paths) {
  auto script = read_script(request, policy.validation.max_script);
  result.script.name = script ? script->name : request.argv.front();
  result.script.function = request.function;
  if (!script) return stop(script.error());
  result.script.bytes = script->bytes.size();
  result.script.sha256 = sha256_hex(script->bytes);
  const auto runner = find_runner(policy.python.version);
  if (!runner) return stop(Status::internal_error, "runner_missing", runner.error().message());

  auto placed = prepared.scratch.place_script(script->name, script->bytes);
  if (!placed) return setup_failed(placed.error());
  std::vector<std::string> modules;
  if (script->input_dir) {
    auto added = add_input(prepared, request, policy, *script, entry_holding(*script->input_dir, out), paths);
    if (!added) return std::unexpected(added.error());
    modules = *std::move(added);
  }
  wire::Job job = make_job(policy, wire::Job::Mode::run, script->name);
  job.script_path = *placed;
  job.function = request.function;
  job.line_buffered = request.live && ::isatty(STDOUT_FILENO) == 1;
  job.local_modules = std::move(modules);
  if (request.payload) {
    auto payload = read_payload(*request.payload);
    if (!payload) return stop(payload.error());
    auto sealed = sealed_memfd("podjail-payload", *payload);
    if (!sealed) return setup_failed(sealed.error());
    prepared.payload = *std::move(sealed);
    job.has_payload = true;
  }
  auto item = make_item(std::move(job), script->bytes);
  if (!item) return setup_failed(item.error());
  prepared.jobs.push_back(*std::move(item));
  paths.runner = prepared.path = runner->path;
  paths.python_executable = runner->executable;
  paths.script_dir = prepared.scratch.task();
  prepared.argv = {runner->executable, *placed};
  prepared.argv.insert(prepared.argv.end(), request.argv.begin() + 1, request.argv.end());
  return {};
}

std::expected<void, Cause> add_command(Prepared& prepared, const RunRequest& request, Result& result, RunPaths& paths) {
  result.script.name = request.argv.front();
  const auto command = find_command(request.argv.front(), value_of(prepared.env, "PATH"), prepared.cwd);
  if (!command) return stop(Status::invalid_input, "missing", command.error().message());
  paths.command = true;
  paths.runner = prepared.path = *command;
  prepared.argv = request.argv;
  return {};
}

}  // namespace

std::expected<Prepared, Cause> prepare_run(const RunRequest& request, const Policy& policy, const std::string& out, Result& result) {
  auto scratch = Scratch::make();
  if (!scratch) return setup_failed(scratch.error());
  Prepared prepared{probe_pod(), {}, *std::move(scratch), {}, {}, {}, {}, {}, {}, {}};
  result.supervisor.kernel = prepared.facts.kernel;
  result.supervisor.landlock_abi = prepared.facts.landlock_abi;
  RunPaths paths;
  paths.scratch = prepared.scratch.data();
  std::vector<std::string> guarded = {out};
  std::error_code no_file;
  if (std::filesystem::exists(request.policy, no_file) && !find_profile(request.policy)) guarded.push_back(request.policy);
  if (auto safe = refuse_writable(guarded, policy.filesystem.write); !safe)
    return stop(Status::invalid_policy, "policy", safe.error().message());
  const bool command = request.kind == RunRequest::Kind::command;
  prepared.cwd = request.workdir.value_or(prepared.scratch.work());
  std::error_code no_folder;
  if (!std::filesystem::is_directory(prepared.cwd, no_folder))
    return stop(Status::invalid_input, "input", "--workdir " + prepared.cwd + " is not a folder");
  if (!command) {
    if (auto added = add_script(prepared, request, policy, out, result, paths); !added) return std::unexpected(added.error());
  }
  prepared.env = make_environment(policy.environment, environment_facts(prepared.scratch, prepared.facts, paths.input_dir, result.run.id),
                                  request.env);
  if (command) {
    if (auto added = add_command(prepared, request, result, paths); !added) return std::unexpected(added.error());
  }
  const auto planned = plan_into(prepared, policy, paths);
  report_plan(result, prepared.plan);
  if (!planned) return std::unexpected(planned.error());
  return prepared;
}

std::expected<Prepared, Cause> prepare_check(const Policy& policy, const std::vector<CheckText>& texts) {
  auto scratch = Scratch::make();
  if (!scratch) return setup_failed(scratch.error());
  Prepared prepared{probe_pod(), {}, *std::move(scratch), {}, {}, {}, {}, {}, {}, {}};
  const auto runner = find_runner(policy.python.version);
  if (!runner) return stop(Status::internal_error, "runner_missing", runner.error().message());
  RunPaths paths;
  paths.runner = prepared.path = runner->path;
  paths.python_executable = runner->executable;
  paths.scratch = prepared.scratch.data();
  prepared.cwd = prepared.scratch.work();
  prepared.argv = {runner->executable};
  prepared.env = make_environment(policy.environment, environment_facts(prepared.scratch, prepared.facts, {}, "check"), {});
  for (const CheckText& text : texts) {
    auto item = make_item(make_job(policy, wire::Job::Mode::check, text.name), text.bytes);
    if (!item) return setup_failed(item.error());
    prepared.jobs.push_back(*std::move(item));
  }
  if (auto planned = plan_into(prepared, policy, paths); !planned) return std::unexpected(planned.error());
  return prepared;
}

}  // namespace podjail
