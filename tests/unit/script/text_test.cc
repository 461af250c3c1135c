#include "script/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "script/codecs.h"

namespace podjail {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::string_literals;

constexpr std::size_t kLimit = 4U << 20;

TEST(Text, ColumnsCountCharacters) {
  using std::string_literals::operator""s;
  const auto column = [](const std::string& bytes) { return check_text(bytes, 1000)->column; };
  EXPECT_EQ(column("x = 1\ny = \"\0\"\n"s), 6);
  EXPECT_EQ(column("\xC3\xA9\xE2\x82\xAC\0"s), 3);
  EXPECT_EQ(column("\xEF\xBB\xBFx\0"s), 2);
  EXPECT_EQ(column("\xC3\xA9\xFF\n"s), 2);
  EXPECT_EQ(column("# coding: utf-7\n"s), 11);
  EXPECT_EQ(column("\xEF\xBB\xBF# coding: latin-1\n"s), 11);
}

TEST(CheckText, LetsPythonTextThrough) {
  const std::string texts[] = {
      "",
      "print('hello')\n",
      "# naïve → 数 😀\nprint('é')\n",
      "\xEF\xBB\xBFprint('BOM')\n",
      "\xEF\xBB\xBF# coding: utf-8\nprint('é')\n",
      "# -*- coding: utf-8 -*-\nprint('é')\n",
      "# vim: set fileencoding=UTF_8 :\nprint('é')\n",
      "# -*- coding: utf-8-unix -*-\nprint('é')\n",
      "# coding: utf8\nprint('é')\n",
      "# -*- coding: latin-1 -*-\nprint('ascii')\n",
      "#!/usr/bin/env python3\n# -*- coding: cp1252 -*-\nprint('ascii')\n",
      "# coding: gbk\nprint('ascii')\n",
      "# coding: ISO-8859-15\nprint('ascii')\n",
      "# coding: iso_646.irv_1991\nprint('ascii')\n",
      "# coding: ascii\nprint('ascii')\n",
      "x = 1\n# coding: utf-7\nprint('é: not in the first line, and that is code')\n",
      "\n\n# coding: utf-7\n# é: the third line\n",
      "x = 1  # coding: utf-7 is not a comment of its own line\n",
      "'''\n# coding: utf-7 in a string that starts before it\n'''\n",
      "# coding utf-7: no colon or = after the word\n",
      "# coding: \n# é\n",
      "BZhello = 1\n",
      "PK = 3\n",
      "\f# form feed first\nprint(1)\n",
  };
  for (const std::string& text : texts) {
    const auto problem = check_text(text, kLimit);
    EXPECT_FALSE(problem) << text << ": " << problem->message;
  }
}

struct Bad {
  std::string bytes, reason;
  int line, byte;
  std::string says;
};

TEST(CheckText, RefusesEachKindWithItsReason) {
  const Bad cases[] = {
      {"print(\"one\")\nprint(\"two\0\")\n"s, "nul_byte", 2, 11, "NUL"},
      {"a\r\nb\rc\0"s, "nul_byte", 3, 2, "line 3"},
      {"print('caf\xE9')\n", "invalid_utf8", 1, 11, "0xe9"},
      {"# -*- coding: utf-8 -*-\nprint('caf\xE9')\n", "invalid_utf8", 2, 11, "save the file as UTF-8"},
      {"# \xED\xA0\x80 a surrogate\n", "invalid_utf8", 1, 3, "0xed"},
      {"# -*- coding: latin-1 -*-\nprint('caf\xE9')\n", "source_encoding", 2, 11,
       "line 1 declares latin-1 and byte 0xe9 (line 2, byte 11) isn't ASCII: save it as UTF-8"},
      {"# -*- coding: latin-1 -*-\nprint('é')\n", "source_encoding", 2, 8, "UTF-8"},
      {"# coding: ascii\n# é\n", "source_encoding", 2, 3, "0xc3"},
      {"# coding: utf-7\nprint('+AGE-')\n", "source_encoding", 1, 11, "declares utf-7"},
      {"#!/bin/x\n#coding=unicode_escape\n", "source_encoding", 2, 9, "unicode_escape"},
      {"# coding: rot13\n", "source_encoding", 1, 11, "rot13"},
      {"# coding: utf-16\n", "source_encoding", 1, 11, "utf-16"},
      {"# coding: iso2022_jp\n", "source_encoding", 1, 11, "iso2022_jp"},
      {"# coding: cp037\n", "source_encoding", 1, 11, "cp037"},
      {"# coding: no-such-codec\n", "source_encoding", 1, 11, "no-such-codec"},
      {" \t\f# encoding: punycode\n", "source_encoding", 1, 16, "punycode"},
      {"\r# coding: utf-7\r", "source_encoding", 2, 11, "line 2"},
      {"# coding: x coding: utf-7\n", "source_encoding", 1, 11, "declares x"},
      {"# coding: : coding: utf-7\n", "source_encoding", 1, 21, "utf-7"},
      {"\xEF\xBB\xBF# coding: latin-1\n", "source_encoding", 1, 14, "byte order mark"},
      {"\xFF\xFEp\0r\0"s, "utf16", 1, 1, "UTF-16"},
      {"\xFE\xFF\0p\0r"s, "utf16", 1, 1, "save it as UTF-8"},
      {"\xFF\xFE\0\0p\0\0\0"s, "utf16", 1, 1, "UTF-32"},
      {"\0\0\xFE\xFF\0\0\0p"s, "utf16", 1, 1, "UTF-32"},
      {"PK\x03\x04\x14\0\0\0"s, "archive", 0, 0, "zip archive"},
      {"#!/usr/bin/env python3\nPK\x03\x04\x14\0"s, "archive", 0, 0, "zip archive"},
      {"\x1F\x8B\x08\0"s, "archive", 0, 0, "gzip"},
      {"BZh91AY&SY\x01"s, "archive", 0, 0, "bzip2"},
      {"a.py"s + std::string(253, '\0') + "ustar" + std::string(250, '\0'), "archive", 0, 0, "tar archive"},
      {"\x7F"
       "ELF\x02\x01\x01\0"s,
       "bytecode", 0, 0, "ELF"},
      {"\xA7\x0D\x0D\x0A\0\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\xE3"s, "bytecode", 0, 0, "compiled Python"},
  };
  for (const Bad& bad : cases) {
    const auto problem = check_text(bad.bytes, kLimit);
    ASSERT_TRUE(problem) << bad.bytes;
    EXPECT_EQ(problem->reason, bad.reason) << bad.bytes << ": " << problem->message;
    EXPECT_EQ(problem->line, bad.line) << bad.bytes << ": " << problem->message;
    EXPECT_EQ(problem->byte, bad.byte) << bad.bytes << ": " << problem->message;
    EXPECT_THAT(problem->message, HasSubstr(bad.says)) << bad.bytes;
  }
}

TEST(CheckText, HoldsTheSizeLimitExactly) {
  EXPECT_FALSE(check_text(std::string(100, '#'), 100));
  const auto problem = check_text(std::string(101, '#'), 100);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->reason, "too_large");
  EXPECT_THAT(problem->message, AllOf(HasSubstr("101"), HasSubstr("100"), HasSubstr("validation.max_script")));
}

TEST(CodecKind, FollowsCPythonsNames) {
  for (const char* name : {"utf-8", "UTF_8", "utf-8-sig", "utf8", "U8", "utf-8-anything", "cp65001"})
    EXPECT_EQ(codec_kind(name), CodecKind::utf8) << name;
  for (const char* name : {"latin-1",      "LATIN_1",      "latin-1-unix", "iso-latin-1", "iso-8859-1", "iso8859_15", "cp1252",
                           "windows-1252", "Windows_1252", "koi8-r",       "gbk",         "cp936",      "big5",       "shift_jis",
                           "euc-jp",       "euc_kr",       "mac-roman",    "us-ascii",    "646",        "tis-620"})
    EXPECT_EQ(codec_kind(name), CodecKind::ascii_superset) << name;
  for (const char* name :
       {"",         "utf-7", "utf_16",     "utf-16-le", "utf-32",         "unicode_escape", "raw_unicode_escape", "rot13",
        "rot_13",   "hex",   "base64",     "zlib",      "idna",           "punycode",       "undefined",          "cp037",
        "cp500",    "cp864", "iso2022_jp", "hz",        "shift_jis_2004", "mbcs",           "latin-1x",           "cp1252-unix",
        "nonsense", "..",    "latin1."})
    EXPECT_EQ(codec_kind(name), CodecKind::other) << name;
}

}  // namespace
}  // namespace podjail
