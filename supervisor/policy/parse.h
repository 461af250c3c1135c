#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "policy/policy.h"

namespace podjail {

/// Everything wrong with one policy document, not only the first thing.
struct PolicyProblem {
  std::string source;           ///< file name, built-in name, or "--set limits.wall=5x"
  std::string pointer;          ///< JSON pointer ("/limits/memory"); "" is the document
  int line = 0;                 ///< 1-based; 0 where there is no text (--set)
  int column = 0;               ///< 1-based, in characters
  std::string message;          ///< "limits.memory: 64Ki is below the 16Mi that Python needs"
  std::size_t path_length = 0;  ///< of "limits.memory: " in the message, which repeats the pointer; 0: the message has none
};

/// "default.json:3:14: /limits/memory: …"
std::string describe(const PolicyProblem& problem);

template <class T>
using PolicyExpected = std::expected<T, std::vector<PolicyProblem>>;

/// Loads the built-in profile NAME, or the file of that path where it contains '/' or ends in ".json" (or no built-in has the name and a
/// file does), follows `extends` (built-in names, or paths relative to the extending file; at most 8 deep, no cycle), then applies each
/// `PATH=VALUE` of `sets` in order (VALUE is JSON, or a bare string where it is not JSON). A policy without `extends` builds on "default",
/// so that every key has a value. Errors: every problem found, in document order, the named document's first.
PolicyExpected<Policy> load_policy(const std::string& name_or_file, std::span<const std::string> sets);

/// The same from a text, for tests and stdin; `source` names it in problems, relative `extends` paths are refused.
PolicyExpected<Policy> parse_policy(std::string_view text, const std::string& source, std::span<const std::string> sets);

}  // namespace podjail
