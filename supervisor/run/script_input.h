#pragma once
#include <expected>
#include <optional>
#include <string>

#include "run/request.h"

namespace podjail {

/// The script's bytes as they will be validated and run, read once.
struct ScriptInput {
  std::string name;   ///< file name for __file__; no '/'
  std::string shown;  ///< the path as the user gave it
  std::string bytes;
  std::optional<std::string> input_dir;  ///< absolute: --input, or the folder that was given as SCRIPT
};

/// Why there is no script: a word of result.reason and a message that names the path.
struct InputProblem {
  std::string reason;  ///< missing, is_directory, not_a_file, symlink_loop, permission_denied, too_large, payload, input
  std::string message;
};

/// Reads SCRIPT (a file, "-", or a folder with __main__.py) without ever waiting for a FIFO; at most `max_bytes`.
std::expected<ScriptInput, InputProblem> read_script(const RunRequest& request, std::uint64_t max_bytes);

/// Reads --payload FILE|-; at most 16 MiB.
std::expected<std::string, InputProblem> read_payload(const std::string& file);

}  // namespace podjail
