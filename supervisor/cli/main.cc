#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/check.h"
#include "cli/explain.h"
#include "cli/log.h"
#include "cli/policy.h"
#include "cli/result.h"
#include "cli/run.h"
#include "cli/stage.h"
#include "cli/terminal.h"
#include "isolation/probe.h"
#include "run/find_runner.h"

extern char** environ;

namespace podjail {
namespace {

// Options that several subcommands share.
struct Options {
  RunRequest request;
  std::string timeout;
  std::string input_mode = "copy", exit_code = "status", log_format = "text", log_level = "info", format = "text";
  bool quiet = false;
  std::vector<std::string> paths;
  std::string name;
};

void add_policy_options(CLI::App& app, RunRequest& request) {
  app.add_option("--policy", request.policy, "Built-in profile or policy file")->envname("PODJAIL_POLICY")->capture_default_str();
  app.add_option("--set", request.sets, "PATH=VALUE: override one policy value; repeatable (in the variable: one a line)")
      ->envname("PODJAIL_SET")
      ->allow_extra_args(false);
}

void add_run_options(CLI::App& app, Options& o) {
  add_policy_options(app, o.request);
  app.add_option("--out", o.request.out, "Folder for the result")->envname("PODJAIL_OUT")->capture_default_str();
  app.add_option("--run-id", o.request.run_id, "Identity of this run (default: random)")->envname("PODJAIL_RUN_ID");
  app.add_flag("--stdin", o.request.pass_stdin, "Pass podjail's stdin on")->envname("PODJAIL_STDIN");
  app.add_flag("--retry-interrupted", o.request.retry_interrupted, "Run again what an earlier attempt left running")
      ->envname("PODJAIL_RETRY_INTERRUPTED");
  app.add_option("--exit-code", o.exit_code, "What podjail exits with")
      ->envname("PODJAIL_EXIT_CODE")
      ->check(CLI::IsMember({"status", "command", "supervisor"}))
      ->capture_default_str();
  app.add_flag("--quiet", o.quiet, "No log, no summary")->envname("PODJAIL_QUIET");
  app.add_option("--log-format", o.log_format)
      ->envname("PODJAIL_LOG_FORMAT")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--log-level", o.log_level)
      ->envname("PODJAIL_LOG_LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  app.prefix_command();
}

Log make_log(const Options& o) {
  const Log::Level level = o.quiet                  ? Log::Level::off
                           : o.log_level == "debug" ? Log::Level::debug
                           : o.log_level == "info"  ? Log::Level::info
                           : o.log_level == "warn"  ? Log::Level::warn
                                                    : Log::Level::error;
  return {o.log_format == "json", level};
}

ExitCodeMode exit_mode(const std::string& text) {
  return text == "command" ? ExitCodeMode::command : text == "supervisor" ? ExitCodeMode::supervisor : ExitCodeMode::status;
}

int usage(const std::string& message) {
  complain(message + "; see podjail --help");
  return exit_code::kUsage;
}

// " (did you mean --policy?)", or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string>& known, const std::string& prefix = "") {
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const auto near = nearest(word, candidates);
  return near ? " (did you mean " + prefix + std::string(*near) + "?)" : "";
}

std::string unknown_option(const CLI::App& app, const std::string& word) {
  const std::string option = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* each : app.get_options()) known.insert(known.end(), each->get_lnames().begin(), each->get_lnames().end());
  const std::size_t name = option.find_first_not_of('-');
  return "unknown option " + option + (name == std::string::npos ? "" : suggestion(option.substr(name), known, "--"));
}

// CLI11 gives what follows "--" to the parent command, prefix_command or not. Under this name it is an ordinary word, the first that
// prefix_command keeps.
constexpr std::string_view kSeparator = "\x01--";

// The word that the command line failed by, where it is one that nobody knows.
std::optional<std::string> unknown_word(const CLI::App& root) {
  const auto all = [](const CLI::App*) { return true; };
  std::string where;
  for (const CLI::App* app = &root; !app->get_prefix_command(); app = app->get_subcommands().front()) {
    if (const std::vector<std::string> rest = app->remaining(); !rest.empty()) {
      const std::string word = rest.front() == kSeparator ? "--" : rest.front();
      std::vector<std::string> commands;
      for (const CLI::App* sub : app->get_subcommands(all)) commands.push_back(sub->get_name());
      if (word.starts_with('-')) return where + unknown_option(*app, word);
      return where +
             (commands.empty() ? "unexpected argument '" + word + "'" : "unknown command '" + word + "'" + suggestion(word, commands));
    }
    if (app->get_subcommands().empty()) break;
    where += app->get_subcommands().front()->get_name() + ": ";
  }
  return std::nullopt;
}

// CLI11 takes a variable as one value.
void split_variable(std::vector<std::string>& values, const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || values != std::vector<std::string>{text}) return;
  values = CLI::detail::split(text, '\n');
  std::erase(values, "");
}

// A variable that looks like a misspelt option of this subcommand, and that no subcommand or pod description uses.
void warn_of_misspelt_variables(const CLI::App& app, const Log& log) {
  constexpr std::string_view kPrefix = "PODJAIL_";
  const auto add_names = [&](std::vector<std::string>& names, const CLI::App& of) {
    for (const CLI::Option* option : of.get_options()) {
      if (option->get_envname().starts_with(kPrefix)) names.push_back(option->get_envname().substr(kPrefix.size()));
    }
  };
  std::vector<std::string> own, known = {"JOB", "POD", "POD_UID", "NODE", "SCRATCH", "OUTPUT_DIR", "INPUT_DIR", "RUN_ID"};
  add_names(own, app);
  for (const CLI::App* sub : app.get_parent()->get_subcommands([](const CLI::App*) { return true; })) add_names(known, *sub);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    if (!variable.starts_with(kPrefix)) continue;
    const std::string_view name = variable.substr(kPrefix.size());
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string near = suggestion(name, own, std::string(kPrefix));
    if (!near.empty()) log.warn(std::string(variable) + " is no variable that podjail " + app.get_name() + " reads" + near);
  }
}

// SCRIPT ARG... or COMMAND ARG...: what prefix_command left. A leading option that nobody knows is a misspelt one, unless "--" came before.
int start(CLI::App& app, Options& o, RunRequest::Kind kind) {
  std::vector<std::string> rest = app.remaining();
  const char* const what = kind == RunRequest::Kind::script ? "SCRIPT" : "COMMAND";
  const auto separator = std::find(rest.begin(), rest.end(), kSeparator);
  const bool separated = !rest.empty() && separator == rest.begin();
  if (separated) {
    rest.erase(rest.begin());
  } else if (separator != rest.end()) {
    *separator = "--";  // the script's own
  }
  if (rest.empty()) return usage(std::string(what) + " is missing");
  if (!separated && rest.front().size() > 1 && rest.front().front() == '-')
    return usage(unknown_option(app, rest.front()) + "; options come before " + what);
  if (rest.front().empty()) return usage(std::string(what) + " is empty");
  o.request.kind = kind;
  o.request.argv = std::move(rest);
  if (o.input_mode == "link") o.request.input_mode = RunRequest::InputMode::link;
  if (!o.timeout.empty()) {
    const auto timeout = parse_duration(o.timeout);
    if (!timeout || timeout->count() == 0)
      return usage("--timeout " + o.timeout + ": " + (timeout ? "0 is no limit" : timeout.error().message()));
    o.request.timeout = *timeout;
  }
  for (const std::string& assignment : o.request.env) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) return usage("--env " + assignment + ": write NAME=VALUE");
    if (assignment.starts_with("LD_") || assignment.starts_with("PODJAIL_"))
      return usage("--env " + assignment.substr(0, equals) + ": this name is not for a jailed command");
  }
  if (o.request.payload && !o.request.function) return usage("--payload needs --function");
  if (o.request.pass_stdin && (o.request.payload == "-" || (kind == RunRequest::Kind::script && o.request.argv.front() == "-"))) {
    return usage("--stdin: stdin is the " + std::string(o.request.payload == "-" ? "payload" : "script") + " already");
  }
  if (kind == RunRequest::Kind::script && o.request.payload == "-" && o.request.argv.front() == "-")
    return usage("script and payload can't both be stdin");
  const Log log = make_log(o);
  warn_of_misspelt_variables(app, log);
  return run_command(o.request, exit_mode(o.exit_code), log);
}

int with_policy(const CLI::App& app, const Options& o, const std::function<int(const Policy&)>& then) {
  warn_of_misspelt_variables(app, make_log(o));
  const auto policy = load_runnable_policy(o.request.policy, o.request.sets);
  if (policy) return then(*policy);
  for (const PolicyProblem& problem : policy.error()) complain(describe(problem));
  return exit_code::kInvalidPolicy;
}

int version(const std::string& format) {
  const PodFacts facts = probe_pod();
  if (format == "json") {
    nlohmann::ordered_json runners = nlohmann::ordered_json::array();
    for (const Runner& runner : list_runners()) runners.push_back({{"python", runner.version}, {"path", runner.path}});
    const nlohmann::ordered_json document = {
        {"version", PODJAIL_VERSION}, {"runners", runners}, {"kernel", facts.kernel}, {"landlock_abi", facts.landlock_abi}};
    std::cout << document.dump(2) << '\n';
    return 0;
  }
  std::cout << "podjail " PODJAIL_VERSION "\n";
  for (const Runner& runner : list_runners()) std::cout << "Python " << runner.version << ": " << runner.path << '\n';
  std::cout << "Linux " << facts.kernel << ", Landlock ABI " << facts.landlock_abi << '\n';
  return 0;
}

int main_or_throw(int argc, char** argv) {
  CLI::App app{"podjail runs one untrusted Python script in the strongest jail that this pod allows.", "podjail"};
  app.require_subcommand(1);
  app.set_version_flag("--version", PODJAIL_VERSION, "Versions");
  // One set for each subcommand that has variables: CLI11 reads them for those that were not named, too.
  Options o, run_options, exec_options, check_options, explain_options;

  CLI::App* const run = app.add_subcommand("run", "Validate, jail, run, record: podjail run [options] SCRIPT [ARG...]");
  add_run_options(*run, run_options);
  run->add_option("--function", run_options.request.function, "Call NAME(payload) instead of running as __main__")
      ->envname("PODJAIL_FUNCTION");
  run->add_option("--payload", run_options.request.payload, "JSON file, or - for stdin")->envname("PODJAIL_PAYLOAD");
  run->add_option("--input", run_options.request.input, "The task's own folder, read-only")->envname("PODJAIL_INPUT");
  run->add_option("--input-mode", run_options.input_mode, "What the work folder has of the input's files: copies, or links to them")
      ->envname("PODJAIL_INPUT_MODE")
      ->check(CLI::IsMember({"copy", "link"}))
      ->capture_default_str();

  CLI::App* const exec = app.add_subcommand("exec", "The same jail for any command: podjail exec [options] -- COMMAND [ARG...]");
  add_run_options(*exec, exec_options);
  exec->add_option("--workdir", exec_options.request.workdir, "Current folder of the command")->envname("PODJAIL_WORKDIR");
  exec->add_option("--env", exec_options.request.env, "NAME=VALUE; repeatable (in the variable: one a line)")
      ->envname("PODJAIL_ENV")
      ->allow_extra_args(false);
  exec->add_option("--timeout", exec_options.timeout, "Replaces limits.wall")->envname("PODJAIL_TIMEOUT");

  CLI::App* const check = app.add_subcommand("check", "Validation only");
  add_policy_options(*check, check_options.request);
  check->add_option("--format", check_options.format)->check(CLI::IsMember({"text", "json", "sarif"}))->capture_default_str();
  check->add_option("PATH", check_options.paths, "Files, folders, or - for stdin")->required();

  CLI::App* const explain_app = app.add_subcommand("explain", "What this pod can enforce, and what the policy asks for");
  add_policy_options(*explain_app, explain_options.request);
  explain_app->add_option("--format", explain_options.format)->check(CLI::IsMember({"text", "json"}))->capture_default_str();

  CLI::App* const policy = app.add_subcommand("policy", "Policies: show, check, schema, list");
  policy->require_subcommand(1);
  CLI::App* const policy_show_app = policy->add_subcommand("show", "The effective policy");
  CLI::App* const policy_check_app = policy->add_subcommand("check", "Its errors, with JSON pointer, line and column");
  for (CLI::App* const sub : {policy_show_app, policy_check_app}) {
    sub->add_option("POLICY", o.request.policy, "Built-in name, file, or -")->capture_default_str();
    sub->add_option("--set", o.request.sets, "PATH=VALUE; repeatable")->allow_extra_args(false);
  }
  CLI::App* const schema = policy->add_subcommand("schema", "The JSON Schema");
  o.name = "policy";
  schema->add_option("NAME", o.name, "policy or result")->capture_default_str();
  CLI::App* const list = policy->add_subcommand("list", "The built-in policies");
  list->add_option("--format", o.format)->check(CLI::IsMember({"text", "json"}))->capture_default_str();

  CLI::App* const result = app.add_subcommand("result", "Results: show");
  result->require_subcommand(1);
  CLI::App* const show = result->add_subcommand("show", "A person's view of a result");
  show->add_option("FILE", o.paths, "result.json, or -")->required()->expected(1);

  CLI::App* const stage_app = app.add_subcommand("stage", "Makes a run's folders on a volume (init container)");
  stage_app->add_option("DIR", o.paths, "Folders to make for this user")->required();

  CLI::App* const version_app = app.add_subcommand("version", "Versions");
  version_app->add_option("--format", o.format)->check(CLI::IsMember({"text", "json"}))->capture_default_str();

  std::vector<std::string> words(argv + 1, argv + argc);
  if (const auto separator = std::find(words.begin(), words.end(), "--"); separator != words.end()) *separator = kSeparator;
  std::reverse(words.begin(), words.end());  // as CLI11 takes a vector
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::CallForVersion&) {
    return version("text");
  } catch (const CLI::ParseError& error) {
    return usage(unknown_word(app).value_or(error.what()));
  }
  for (Options* const each : {&run_options, &exec_options, &check_options, &explain_options}) {
    split_variable(each->request.sets, "PODJAIL_SET");
    split_variable(each->request.env, "PODJAIL_ENV");
  }
  if (*run) return start(*run, run_options, RunRequest::Kind::script);
  if (*exec) return start(*exec, exec_options, RunRequest::Kind::command);
  if (*check) {
    const std::string& name = check_options.format;
    const CheckFormat format = name == "json" ? CheckFormat::json : name == "sarif" ? CheckFormat::sarif : CheckFormat::text;
    return with_policy(*check, check_options, [&](const Policy& p) { return check_command(p, check_options.paths, format); });
  }
  if (*explain_app) {
    return with_policy(*explain_app, explain_options,
                       [&](const Policy& p) { return explain(p, probe_pod(), explain_options.format == "json"); });
  }
  if (*policy_show_app) return policy_show(o.request.policy, o.request.sets);
  if (*policy_check_app) return policy_check(o.request.policy, o.request.sets);
  if (*schema) return policy_schema(o.name);
  if (*list) return policy_list(o.format == "json");
  if (*show) return result_show(o.paths.front());
  if (*stage_app) return stage(o.paths);
  return version(o.format);
}

// The next file that podjail opens would get the number of a standard stream that it was started without. Not readable, so that a missing
// stdin is no empty script.
bool plug_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) == -1 && ::open("/dev/null", O_WRONLY) != fd) return false;
  }
  return true;
}

// All subcommands print by stdio, std::cout with it.
int finish(int code) {
  const std::string reason = std::fflush(stdout) != 0 ? std::string(": ") + std::strerror(errno) : "";
  if (reason.empty() && std::ferror(stdout) == 0) return code;
  complain("stdout can't be written" + reason);
  return exit_code::kResultNotWritten;
}

}  // namespace
}  // namespace podjail

int main(int argc, char** argv) {
  rlimit descriptors{};
  if (::getrlimit(RLIMIT_NOFILE, &descriptors) == 0) {  // an input of many files takes as many
    descriptors.rlim_cur = descriptors.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &descriptors);
  }
  ::umask(022);  // what is written must not depend on who started podjail
  if (!podjail::plug_standard_streams()) return podjail::exit_code::kInternalError;
  try {
    return podjail::finish(podjail::main_or_throw(argc, argv));
  } catch (const std::exception& error) {
    podjail::complain(std::string("internal error: ") + error.what());
    return podjail::exit_code::kInternalError;
  }
}
