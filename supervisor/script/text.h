#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace podjail {

/// Why a file is not Python text that can be checked and run as the same bytes (design: encodings).
struct TextProblem {
  std::string
      reason;  ///< word of result.reason: "nul_byte", "source_encoding", "invalid_utf8", "utf16", "archive", "bytecode", "too_large"
  std::string message;  ///< "line 1 declares latin-1 and byte 0xe9 (line 2, byte 12) isn't ASCII: save it as UTF-8"
  int line = 0;         ///< 1-based; 0: no position
  int byte = 0;         ///< 1-based within the line
  int column = 0;       ///< the same in characters; a byte that is none counts as one
};

/// Strict UTF-8 (one BOM allowed); PEP 263 cookies: an ASCII superset is fine when every byte is ASCII, otherwise only UTF-8.
std::optional<TextProblem> check_text(std::string_view bytes, std::size_t max_bytes);

}  // namespace podjail
