#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_read.h"
#include "base/json_write.h"

namespace podjail {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

struct Bad {
  std::string text;
  std::string pointer;
  int line, column;
  std::string says;
};

TEST(ReadJson, PutsEveryProblemAtItsPlace) {
  const Bad cases[] = {
      {"", "", 1, 1, "unexpected end of input"},
      {"{", "", 1, 2, "unexpected end of input"},
      {"{\n  \"a\": 1,\n}", "", 3, 1, "unexpected '}'"},
      {"{\"a\": NaN}", "/a", 1, 7, "NaN and Infinity"},
      {"[1, -Infinity]", "", 1, 5, "NaN and Infinity"},
      {"{\"a\": 1} x", "", 1, 10, "invalid literal"},
      {"{\"a\": 1} {", "", 1, 10, "unexpected '{'"},
      {"[1 2]", "", 1, 4, "unexpected number literal"},
      {"{\"é\" \"b\"}", "/é", 1, 6, "unexpected string literal"},
      {"{'a': 1}", "", 1, 2, "invalid literal"},
      {"// hello\n{}", "", 1, 1, "no comments"},
      {"{\"a\": 1, # b\n}", "", 1, 10, "no comments"},
      {"{\"é\": \"x\xFFy\"}", "/é", 1, 9, "UTF-8"},
      {"{\"a\": \"\xED\xA0\x80\"}", "/a", 1, 8, "UTF-8"},
      {"{\"a\": \"\\ud800\"}", "/a", 1, 14, "surrogate"},
      {"{\"a\": 1e999}", "/a", 1, 7, "out of range"},
      {"{\"a\": 18446744073709551616}", "/a", 1, 7, "integer 18446744073709551616 is out of range"},
      {"{\"a\": -9223372036854775809}", "/a", 1, 7, "out of range"},
      {"{\"a\": [0, {\"b\": 1,\n \"b\": 2}]}", "/a/1/b", 2, 2, "duplicate key"},
      {"{\"a/b~c\": 1, \"a/b~c\": 2}", "/a~1b~0c", 1, 14, "duplicate key"},
      {"\xEF\xBB\xBF{\"a\": 1, \"a\": 1}", "/a", 1, 10, "duplicate key"},
      {"{\"a\": 01}", "", 1, 8, "unexpected number literal"},
      {"{\"a\": \"b\nc\"}", "/a", 1, 9, "control character"},
      {"{}\0"s, "", 1, 3, "NUL byte"},
      {"{\"a\": 1}\0 garbage"s, "", 1, 9, "NUL byte"},
      {std::string(65, '['), "", 1, 65, "nested more than 64 deep"},
      {std::string((1U << 20) + 1, ' '), "", 1, 1, "larger than 1 MiB"},
  };
  for (const Bad& bad : cases) {
    const JsonDocument document = read_json(bad.text);
    const std::string shown = bad.text.substr(0, 40);
    ASSERT_FALSE(document.problems.empty()) << shown;
    const JsonProblem& problem = document.problems.front();
    EXPECT_THAT(problem.message, HasSubstr(bad.says)) << shown;
    if (!bad.text.starts_with("[[")) {  // a pointer as deep as the nesting is not spelt out here
      EXPECT_EQ(problem.pointer, bad.pointer) << shown;
    }
    EXPECT_EQ(problem.line, bad.line) << shown << ": " << problem.message;
    EXPECT_EQ(problem.column, bad.column) << shown << ": " << problem.message;
    EXPECT_THAT(problem.message, ::testing::Not(HasSubstr("last read"))) << shown;
  }
}

TEST(ReadJson, GoesOnAfterDuplicatesAndKeepsTheFirst) {
  const JsonDocument document = read_json(R"({"a": 1, "a": {"x": [2]}, "b": true, "b": 99999999999999999999, "c": null})");
  ASSERT_EQ(document.problems.size(), 3U);
  ASSERT_TRUE(document.root);
  ASSERT_EQ(document.root->members.size(), 3U);
  EXPECT_EQ(document.root->find("a")->text, "1");
  EXPECT_TRUE(document.root->find("b")->boolean);
}

TEST(ReadJson, KnowsWhereKeysAndValuesStand) {
  const JsonDocument document = read_json("{\r\n\t\"é😀\" :\n [ -1.50,2e3 , \"x\\n\", false,null, {} ,[] ]\n}\n");
  ASSERT_TRUE(document.root && document.problems.empty());
  const JsonMember& member = document.root->members.at(0);
  EXPECT_EQ(member.key, "é😀");
  EXPECT_EQ(std::pair(member.line, member.column), std::pair(2, 2));
  EXPECT_EQ(std::pair(member.value.line, member.value.column), std::pair(3, 2));
  const auto& items = member.value.items;
  ASSERT_EQ(items.size(), 7U);
  constexpr int kColumns[] = {4, 10, 16, 23, 29, 35, 39};
  for (std::size_t i = 0; i < items.size(); ++i) EXPECT_EQ(items[i].column, kColumns[i]) << i;
  EXPECT_EQ(items[0].text, "-1.50");
  EXPECT_EQ(items[1].text, "2e3");
  EXPECT_EQ(items[2].text, "x\n");
  EXPECT_EQ(items[5].kind, JsonNode::Kind::object);
}

TEST(ReadJson, ReadsWholeTextsOfOneScalar) {
  EXPECT_EQ(read_json("42").root->text, "42");
  EXPECT_EQ(read_json(" 42 ").root->text, "42");
  EXPECT_EQ(read_json("\xEF\xBB\xBF-7").root->text, "-7");
  EXPECT_EQ(read_json("18446744073709551615").problems.size(), 0U);
  EXPECT_EQ(read_json(std::string(64, '[') + std::string(64, ']')).problems.size(), 0U);
}

TEST(WriteJson, SortsKeysAndSurvivesBadText) {
  EXPECT_EQ(write_json({{"b", 1}, {"a", {2, nullptr}}}), R"({"a":[2,null],"b":1})");
  EXPECT_EQ(write_json({{"k\xFF", "\xED\xA0\x80"}}), "{\"k�\":\"���\"}");
  EXPECT_EQ(write_json({{"a", 1}}, 2), "{\n  \"a\": 1\n}");
}

TEST(JsonPointer, Escapes) {
  EXPECT_EQ(json_pointer("", "limits"), "/limits");
  EXPECT_EQ(json_pointer("/a", "b/c~d"), "/a/b~1c~0d");
}

}  // namespace
}  // namespace podjail
