#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wire/wire.h"

/// How one run of the real podjail-python ended.
struct RunnerEnd {
  std::string hello_error, confined_error;
  podjail::wire::Verdict verdict;
  int status = 0;  ///< as wait(2)
  std::string out, err;
  std::optional<podjail::wire::Ended> ended;
};

struct RunnerInput {
  std::string source;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  ///< all of it
  podjail::wire::Job job;                          ///< script_path and limits are filled in
  std::optional<std::string> payload;
  std::string python = PODJAIL_PYTHON;
  std::string folder;  ///< where script.py is written; its current directory
};

/// Plays the supervisor: filters that allow everything, no Landlock, then the job and "go".
RunnerEnd run_runner(const RunnerInput& input);

/// The same script under the real python3; only status, out and err.
RunnerEnd run_python3(const RunnerInput& input);
