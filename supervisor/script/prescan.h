#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace podjail {

/// Bounds what CPython's parser may be fed (2 MB of "x;" costs it 1.8 GB): one pass over the bytes, no allocation that grows with them. It
/// cuts the text into tokens as Python's tokenizer does, and adds up an estimate of what parsing and compiling will cost; what is no valid
/// Python is left to the parser.
struct PrescanProblem {
  std::string message;       ///< "more than 200 nested brackets"
  int line = 0, column = 0;  ///< 1-based, column in characters; where the bound was passed
};

std::optional<PrescanProblem> prescan(std::string_view source);

}  // namespace podjail
