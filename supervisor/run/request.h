#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "result/exit_code.h"

namespace podjail {

/// One `podjail run` or `podjail exec`, as asked for on the command line. A plain value.
struct RunRequest {
  enum class Kind { script, command } kind = Kind::script;
  std::string policy = "default";     ///< --policy: built-in name or file
  std::vector<std::string> sets;      ///< --set PATH=VALUE
  std::string out = "./podjail-out";  ///< --out
  std::string run_id;                 ///< --run-id; empty: random
  bool retry_interrupted = false;
  std::vector<std::string> argv;  ///< script: SCRIPT ("-": stdin, or a folder with __main__.py) ARG...; command: COMMAND ARG...
  std::optional<std::string> function;
  std::optional<std::string> payload;                                ///< a file, or "-"
  std::optional<std::string> input;                                  ///< --input DIR
  enum class InputMode { copy, link } input_mode = InputMode::copy;  ///< --input-mode: what the work folder has of the input's files
  bool pass_stdin = false;                                           ///< --stdin
  std::optional<std::string> workdir;                                ///< exec
  std::vector<std::string> env;                                      ///< exec: K=V
  std::optional<std::chrono::milliseconds> timeout;                  ///< exec: replaces limits.wall
  bool live = true;                                                  ///< pass the script's streams on to podjail's own
};

}  // namespace podjail
