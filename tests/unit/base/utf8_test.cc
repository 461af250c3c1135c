#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace podjail {
namespace {

using namespace std::string_literals;

// Independent of the table in utf8.cc: the definition by code point.
std::string encode(std::uint32_t c) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 | c >> 6), byte(0x80 | (c & 63))};
  if (c < 0x10000) return {byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 63)), byte(0x80 | (c & 63))};
  return {byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 63)), byte(0x80 | (c >> 6 & 63)), byte(0x80 | (c & 63))};
}

TEST(Utf8, KnowsEveryCodePointAndNoSurrogate) {
  for (std::uint32_t c = 0; c < 0x120000; ++c) {
    const std::string text = encode(c);
    const bool scalar = c <= 0x10FFFF && !(c >= 0xD800 && c <= 0xDFFF);
    ASSERT_EQ(utf8_sequence_length(text), scalar ? text.size() : 0) << std::hex << c;
  }
}

TEST(Utf8, RefusesOverlongAndCutSequences) {
  for (const auto& bad : {"\x80"s, "\xC0\x80"s, "\xC1\xBF"s, "\xE0\x9F\xBF"s, "\xF0\x8F\xBF\xBF"s, "\xF4\x90\x80\x80"s, "\xF5\x80\x80\x80"s,
                          "\xFF"s, "\xE2\x82"s, "\xC3"s, "\xC3("s, ""s})
    EXPECT_EQ(utf8_sequence_length(bad), 0U);
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("plain ascii of more than eight bytes"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("naïve → 数 😀"), std::nullopt);
  for (std::size_t before = 0; before < 20; ++before) EXPECT_EQ(find_invalid_utf8(std::string(before, 'a') + "\xE9 and more text"), before);
  EXPECT_EQ(find_invalid_utf8("ok\xE2\x82"), 2U);
  EXPECT_EQ(find_invalid_utf8("a\0b"s), std::nullopt);
}

TEST(Utf8, ReplacesMaximalSubparts) {
  EXPECT_EQ(to_valid_utf8("abc"), "abc");
  EXPECT_EQ(to_valid_utf8("a\xFF\xFE"
                          "b"),
            "a��b");
  EXPECT_EQ(to_valid_utf8("\xE2\x82"), "�");        // one cut sequence, one replacement
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80"), "���");  // a surrogate has no valid start: three
  EXPECT_EQ(to_valid_utf8("\xF0\x9F\x98x"), "�x");
  // The example of Unicode 15, table 3-8.
  EXPECT_EQ(to_valid_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"), "a���b�c��d");
}

TEST(Utf8, CutsBetweenCharacters) {
  const std::string text = "aé数😀z";  // 1 + 2 + 3 + 4 + 1
  for (std::size_t limit = 0; limit <= text.size() + 1; ++limit) {
    EXPECT_EQ(find_invalid_utf8(utf8_prefix(text, limit)), std::nullopt) << limit;
    EXPECT_EQ(find_invalid_utf8(utf8_suffix(text, limit)), std::nullopt) << limit;
    EXPECT_LE(utf8_prefix(text, limit).size(), limit);
    EXPECT_LE(utf8_suffix(text, limit).size(), limit);
  }
  EXPECT_EQ(utf8_prefix(text, 5), "aé");
  EXPECT_EQ(utf8_prefix(text, 6), "aé数");
  EXPECT_EQ(utf8_suffix(text, 5), "😀z");
  EXPECT_EQ(utf8_suffix(text, 4), "z");
  EXPECT_EQ(utf8_prefix("\x80\x80\x80\x80\x80", 3).size(), 3U);  // nothing well-formed to keep whole
  EXPECT_EQ(utf8_suffix("\x80\x80\x80\x80\x80", 3).size(), 3U);
}

TEST(Utf8, CountsCodePoints) {
  EXPECT_EQ(utf8_length(""), 0U);
  EXPECT_EQ(utf8_length("aé数😀z"), 5U);
  EXPECT_EQ(utf8_length("a\xFFz"), 3U);
}

}  // namespace
}  // namespace podjail
