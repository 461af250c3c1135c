#include "base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace podjail {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Unicode 15, table 3-7, by the first byte: how long the sequence is and what the second byte may be; later bytes are 80..BF.
struct Lead {
  std::size_t length = 0;  // 0: no sequence starts with this byte
  unsigned char second_min = 0x80, second_max = 0xBF;
};

constexpr Lead lead_of(unsigned char byte) noexcept {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};  // no overlongs
  if (byte == 0xED) return {3, 0x80, 0x9F};  // no surrogates
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};  // no overlongs
  if (byte < 0xF4) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};  // not above U+10FFFF
  return {};
}

bool is_continuation(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// How many bytes from the start of `text` are the beginning of some well-formed sequence (at least 1), and whether it is whole.
struct Subpart {
  std::size_t length = 1;
  bool whole = false;
};

Subpart subpart_at(std::string_view text) noexcept {
  const Lead lead = lead_of(static_cast<unsigned char>(text.front()));
  if (lead.length <= 1) return {1, lead.length == 1};
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i >= text.size()) return {i, false};
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool fits = i == 1 ? byte >= lead.second_min && byte <= lead.second_max : is_continuation(text[i]);
    if (!fits) return {i, false};
  }
  return {lead.length, true};
}

// Bytes from `offset` on that are ASCII, eight at a time: most text is.
std::size_t skip_ascii(std::string_view text, std::size_t offset) noexcept {
  constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;
  while (text.size() - offset >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + offset, sizeof word);
    if ((word & kHighBits) != 0) break;
    offset += sizeof word;
  }
  while (offset < text.size() && static_cast<unsigned char>(text[offset]) < 0x80) ++offset;
  return offset;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const Subpart part = subpart_at(text);
  return part.whole ? part.length : 0;
}

std::optional<std::size_t> find_invalid_utf8(std::string_view text) noexcept {
  std::size_t offset = 0;
  while ((offset = skip_ascii(text, offset)) < text.size()) {
    const std::size_t length = utf8_sequence_length(text.substr(offset));
    if (length == 0) return offset;
    offset += length;
  }
  return std::nullopt;
}

std::string to_valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t good = find_invalid_utf8(text).value_or(text.size());
    valid += text.substr(0, good);
    text.remove_prefix(good);
    if (text.empty()) break;
    valid += kReplacement;
    text.remove_prefix(subpart_at(text).length);
  }
  return valid;
}

std::string_view utf8_prefix(std::string_view text, std::size_t limit) noexcept {
  if (text.size() <= limit) return text;
  // A sequence has at most four bytes, so only one that starts in the last three before the limit can be cut by it.
  for (std::size_t back = 1; back <= 3 && back <= limit; ++back) {
    const std::size_t start = limit - back;
    if (is_continuation(text[start])) continue;
    if (utf8_sequence_length(text.substr(start)) > back) return text.substr(0, start);
    break;
  }
  return text.substr(0, limit);
}

std::string_view utf8_suffix(std::string_view text, std::size_t limit) noexcept {
  if (text.size() <= limit) return text;
  const std::size_t cut = text.size() - limit;
  for (std::size_t back = 1; back <= 3 && back <= cut; ++back) {
    const std::size_t start = cut - back;
    if (is_continuation(text[start])) continue;
    const std::size_t length = utf8_sequence_length(text.substr(start));
    if (length > back) return text.substr(start + length);
    break;
  }
  return text.substr(cut);
}

std::size_t utf8_length(std::string_view text) noexcept {
  std::size_t count = 0;
  for (std::size_t offset = 0; offset < text.size(); ++count) offset += std::max<std::size_t>(utf8_sequence_length(text.substr(offset)), 1);
  return count;
}

}  // namespace podjail
