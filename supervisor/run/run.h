#pragma once
#include <optional>
#include <string>

#include "run/request.h"

namespace podjail {

/// What a person at the terminal is told; the rest is in result.json.
struct RunOutcome {
  Result result;
  std::string record_path;  ///< empty: no result could be written
  bool published = false;
  bool replayed = false;      ///< a final result of this run id was there already: nothing ran
  bool open_line = false;     ///< the script's last byte on the terminal, or on stderr, was no newline
  std::string publish_error;  ///< why not
};

/// The whole way once: result folder, policy, script, plan, jail, run, result. Publishes a result in every ending but an unwritable folder.
RunOutcome run(const RunRequest& request);

}  // namespace podjail
