#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace podjail {

/// Length in bytes of the well-formed UTF-8 sequence (Unicode 15, table 3-7: no overlongs, no surrogates) at the start of `text`; 0 where
/// there is none.
std::size_t utf8_sequence_length(std::string_view text) noexcept;

/// Offset of the first byte that is not part of well-formed UTF-8, or nullopt.
std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept;

/// `text` as well-formed UTF-8: each maximal ill-formed subpart becomes U+FFFD (Unicode 15, §3.9).
std::string to_valid_utf8(std::string_view text);

/// The longest prefix of at most `limit` bytes that does not cut a well-formed sequence.
std::string_view utf8_prefix(std::string_view text, std::size_t limit) noexcept;

/// The longest suffix of at most `limit` bytes that does not start within a sequence.
std::string_view utf8_suffix(std::string_view text, std::size_t limit) noexcept;

/// Code points in well-formed `text` (an ill-formed byte counts as one).
std::size_t utf8_length(std::string_view text) noexcept;

}  // namespace podjail
