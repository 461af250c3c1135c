#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace podjail {

/// The candidate that `word` is probably a misspelling of: by edit distance (one insertion, deletion, replacement or swap of neighbours
/// each count 1), at most a third of the word's length; nullopt where none is near. Case is ignored.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates);

/// `; did you mean "limits"?`, or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace podjail
