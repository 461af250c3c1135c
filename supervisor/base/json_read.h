#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podjail {

struct JsonMember;

/// A JSON value that knows where it stands in its text.
struct JsonNode {
  enum class Kind { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  int line = 0, column = 0;  ///< 1-based, column in characters, a BOM not counted; 0: not from a text
  bool boolean = false;
  std::string text;                 ///< string: the decoded value; number: as written ("2.50"), an integer fits int64 or uint64
  std::vector<JsonNode> items;      ///< array
  std::vector<JsonMember> members;  ///< object, in the text's order, keys distinct

  [[nodiscard]] const JsonNode* find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  int line = 0, column = 0;  ///< of the key
  JsonNode value;
};

struct JsonProblem {
  std::string pointer;  ///< RFC 6901; "" is the document
  int line = 0, column = 0;
  std::string message;
};

struct JsonDocument {
  std::optional<JsonNode> root;  ///< nullopt: the text ended at a problem
  std::vector<JsonProblem> problems;
};

inline constexpr std::size_t kJsonMaxBytes = 1U << 20;
inline constexpr std::size_t kJsonMaxDepth = 64;

/// RFC 8259, strictly: one value; no comments, NaN, trailing commas or text. A duplicate key (the first one stays) and an integer outside
/// int64/uint64 are problems that don't end the reading; a syntax error, more than kJsonMaxBytes or kJsonMaxDepth do.
JsonDocument read_json(std::string_view text);

/// One more reference token of a JSON pointer (RFC 6901: ~ and / are escaped).
std::string json_pointer(std::string_view parent, std::string_view token);

/// "an object", "the number 5", "a string": for messages about a wrong type.
std::string describe_json(const JsonNode& node);

}  // namespace podjail
