#include "result/write.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "result/exit_code.h"

namespace podjail {
namespace {

using nlohmann::json;
using std::string_literals::operator""s;

TEST(ResultWrite, EverySectionIsThereFromTheStartedRecordOn) {
  const json document = json::parse(to_json(Result{}));
  for (const char* key : {"schema", "status", "retry_safe", "reason",     "observed",  "message",    "run",
                          "script", "exit",   "policy",     "validation", "isolation", "violations", "limits",
                          "usage",  "stdout", "stderr",     "artifacts",  "timings",   "supervisor", "signature"}) {
    EXPECT_TRUE(document.contains(key)) << key;
  }
  EXPECT_EQ(document["status"], "running");
  EXPECT_TRUE(document["exit"]["supervisor_code"].is_null());
}

TEST(ResultWrite, HostileContentStaysValidJson) {
  Result result;
  result.message = "NUL\0 and \xff\xc3 and \x1b[2J"s;
  result.script.claim = wire::Ended{};
  result.script.claim->exception = wire::ExceptionClaim{"E\xed\xa0\xbd", std::string(1 << 20, 'x'), "\"}]", 1};
  result.script.claim->return_value = "1\0, \"status\": \"succeeded\""s;
  result.script.claim->exit_argument = "\"}, \"status\": \"succeeded\", \"x\": {\"";
  const std::string text = to_json(result);
  EXPECT_FALSE(find_invalid_utf8(text));
  const json document = json::parse(text);
  EXPECT_EQ(document["status"], "running");
  EXPECT_TRUE(document["script"]["return_value"].is_null());
  EXPECT_TRUE(document["script"]["exit_argument"].is_null());
  EXPECT_LE(document["script"]["exception"]["message"].get<std::string>().size(), 64U << 10);
}

TEST(ResultWrite, NumbersOfTheScriptAreKeptDigitByDigit) {
  Result result;
  result.script.claim = wire::Ended{};
  result.script.claim->return_value = R"({"n":123456789012345678901234567890,"x":1.0})";
  EXPECT_NE(to_json(result).find(R"("return_value": {"n":123456789012345678901234567890,"x":1.0})"), std::string::npos);
}

TEST(ResultWrite, TheTerminationMessageFitsAndSaysWhereToCheck) {
  Result result;
  result.status = Status::failed;
  result.message = std::string(4000, '\x01');
  const std::string record = to_json(result);
  const std::string message = to_termination_message(result, record);
  EXPECT_LE(message.size(), 1024U);
  const json document = json::parse(message);
  EXPECT_EQ(document["result_bytes"], record.size());
  EXPECT_EQ(document["result_sha256"].get<std::string>().size(), 64U);
}

TEST(ResultWrite, SignalsHaveTheirNames) {
  EXPECT_EQ(signal_name(9), "SIGKILL");
  EXPECT_EQ(signal_name(63), "SIG63");
}

TEST(ExitCode, EachModeMapsAsDocumented) {
  Result result;
  result.status = Status::failed;
  result.exit.code = 3;
  EXPECT_EQ(exit_code_of(result, ExitCodeMode::status), 1);
  EXPECT_EQ(exit_code_of(result, ExitCodeMode::command), 3);
  EXPECT_EQ(exit_code_of(result, ExitCodeMode::supervisor), 0);
  result.status = Status::killed;
  result.exit.code.reset();
  result.exit.signal = 9;
  EXPECT_EQ(exit_code_of(result, ExitCodeMode::command), 137);
  EXPECT_EQ(exit_code_of(result, ExitCodeMode::status), 86);
  result.status = Status::timed_out;
  EXPECT_EQ(exit_code_of(result, ExitCodeMode::command), 80);
}

TEST(ExitCode, NeverZeroOnceATermCame) {
  Result result;
  result.status = Status::cancelled;
  result.exit.code = 0;
  for (const auto mode : {ExitCodeMode::status, ExitCodeMode::command, ExitCodeMode::supervisor}) EXPECT_EQ(exit_code_of(result, mode), 75);
}

TEST(ExitCode, NamesAndStatusesAreOneToOne) {
  for (int i = 0; i <= static_cast<int>(Status::internal_error); ++i) {
    const auto status = static_cast<Status>(i);
    EXPECT_EQ(status_from(to_string(status)), status);
  }
  EXPECT_FALSE(status_from("unheard_of"));
}

}  // namespace
}  // namespace podjail
