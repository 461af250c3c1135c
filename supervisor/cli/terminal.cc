#include "cli/terminal.h"

#include <iostream>

#include "base/utf8.h"

namespace podjail {
namespace {

std::string escaped(unsigned char code) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  return {'\\', 'x', kDigits[code >> 4], kDigits[code & 15]};
}

// The first character of `rest` as it may be shown; takes it off. A lone byte from 0x80 on is no UTF-8, and a C1 control to an 8-bit
// terminal.
std::string take(std::string_view& rest) {
  const std::size_t length = utf8_sequence_length(rest);
  const std::string_view character = rest.substr(0, length > 0 ? length : 1);
  rest.remove_prefix(character.size());
  const auto first = static_cast<unsigned char>(character.front());
  if (length == 0 || first == 0x7f || (first < 0x20 && first != '\n' && first != '\t')) return escaped(first);
  if (first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0) return escaped(static_cast<unsigned char>(character[1]));
  return std::string(character);
}

}  // namespace

std::string neutral_text(std::string_view text) {
  std::string result;
  while (!text.empty()) result += take(text);
  return result;
}

std::string neutral_line(std::string_view text, std::size_t limit) {
  std::string result;
  while (!text.empty()) {
    std::string shown = take(text);
    if (shown == "\n") shown = "\\n";
    if (shown.size() > limit - result.size()) return result + "…";
    result += shown;
  }
  return result;
}

void complain(std::string_view message) {
  std::cerr << "podjail: " + neutral_line(message) + '\n';
}

}  // namespace podjail
