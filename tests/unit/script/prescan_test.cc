#include "script/prescan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

using podjail::prescan;

namespace {

std::string repeat(std::string_view part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

TEST(Prescan, PassesEveryFileOfTheStandardLibrary) {
  int files = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("/usr/lib/python3.11", error)) {
    if (entry.path().extension() != ".py") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    const auto problem = prescan(text.str());
    EXPECT_FALSE(problem) << entry.path() << ": " << problem->message << " at " << problem->line << ":" << problem->column;
    ++files;
  }
  if (files == 0) GTEST_SKIP() << "no /usr/lib/python3.11 here";
}

TEST(Prescan, PassesLargeData) {
  EXPECT_FALSE(prescan("DATA = \"" + repeat("QUJD", 330'000) + "\"\n"));
  EXPECT_FALSE(prescan("DATA = \"\"\"\n" + repeat("1,2,3,4,5,6,7,8,9,(((([[[[{{{{\n", 50'000) + "\"\"\"\n"));
  EXPECT_FALSE(prescan("DATA = [\n" + repeat("    [12.5, 100, 'abcdef', None],\n", 40'000) + "]\n"));
  EXPECT_FALSE(prescan(repeat("# only comments ((((((((\n", 150'000)));
}

TEST(Prescan, RefusesWhatCostsTheParserTooMuch) {
  EXPECT_EQ(prescan(repeat("x;", 1'000'000))->message, "more code than Python can compile in 256 MiB");
  EXPECT_TRUE(prescan("x = [" + repeat("1,", 1'000'000) + "]"));
  EXPECT_TRUE(prescan(repeat("x\n", 1'000'000)));
  EXPECT_TRUE(prescan(repeat("with a:0\n", 400'000)));
  EXPECT_TRUE(prescan("def f():\n a=" + [] {
    std::string names;
    for (int i = 0; i < 60'000; ++i) names += "a" + std::to_string(i) + "=";
    return names;
  }() + "0\n " + repeat("lambda:0;", 5'000)));
  EXPECT_FALSE(prescan([] {
    std::string functions;
    for (int i = 0; i < 20'000; ++i) functions += "def f" + std::to_string(i) + "(a):\n    return a + 1\n";
    return functions;
  }()));
  EXPECT_TRUE(prescan(repeat("def f():0\n", 20'000)));
  EXPECT_TRUE(prescan("f(" + repeat("a=1,", 30'000) + ")"));
  EXPECT_TRUE(prescan("f\"" + repeat("{x}", 100'000) + "\""));
  EXPECT_TRUE(prescan("x = " + repeat("- ", 10'000) + "1"));
}

TEST(Prescan, BoundsNesting) {
  EXPECT_FALSE(prescan(repeat("(", 200) + repeat(")", 200)));
  const auto problem = prescan("é = 1\nx = é" + repeat("(", 201));
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->message, "more than 200 nested brackets");
  EXPECT_EQ(problem->line, 2);
  EXPECT_EQ(problem->column, 206);
}

// Brackets count only where they are code.
TEST(Prescan, KnowsStringsAndComments) {
  const std::string many = repeat("(", 300);
  for (const std::string& text :
       {"'" + many + "'", "\"" + many + "\"", "'''\n" + many + "\n'''", "r'\\'" + many + "'", "b\"\\\"" + many + "\"",
        "Rb'''\\'''" + many + "'''", "# " + many, "x = 'a' # '" + many, "'a\\\n" + many + "'", "u'" + many + "'", "f'" + many + "'",
        "''; '" + many + "'", "\"\"\"\"\"'" + many + "\"\"\""}) {
    EXPECT_FALSE(prescan(text)) << text.substr(0, 20);
  }
  for (const std::string& text : {"'' + " + many, "'a'" + many, "''''''" + many, "r'\\\\'" + many, "# '\n" + many, "'a\n" + many,
                                  "x" + many, "bar'a'" + many, "\\\n" + many, "'''a'''" + many}) {
    EXPECT_TRUE(prescan(text)) << text.substr(0, 20);
  }
}

TEST(Prescan, SurvivesAnyBytes) {
  for (int c = 0; c < 256; ++c) {
    const char byte = static_cast<char>(c);
    EXPECT_FALSE(prescan(std::string(1, byte)));
    EXPECT_FALSE(prescan(std::string("'") + byte));
    EXPECT_FALSE(prescan(std::string("f'{") + byte));
    EXPECT_FALSE(prescan(std::string("1e") + byte + byte));
    EXPECT_FALSE(prescan(std::string("'''\\") + byte));
  }
  EXPECT_FALSE(prescan("\\"));
  EXPECT_FALSE(prescan(")))"));
  EXPECT_FALSE(prescan(""));
}

}  // namespace
