#include "base/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace podjail {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

struct BytesCase {
  const char* text;
  std::uint64_t bytes;
};

TEST(ParseBytes, TakesKubernetesQuantities) {
  constexpr BytesCase kCases[] = {{"0", 0},
                                  {"1500", 1500},
                                  {"64k", 64'000},
                                  {"512Mi", 536'870'912},
                                  {"1Gi", 1'073'741'824},
                                  {"1.5Gi", 1'610'612'736},
                                  {"0.5k", 500},
                                  {"9223372036854775807", 9'223'372'036'854'775'807U},
                                  {"7Ei", 8'070'450'532'247'928'832U},
                                  {"9E", 9'000'000'000'000'000'000U},
                                  {"1T", 1'000'000'000'000},
                                  {"007", 7}};
  for (const auto& [text, bytes] : kCases) {
    const auto parsed = parse_bytes(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message();
    EXPECT_EQ(*parsed, bytes) << text;
  }
}

struct BadCase {
  const char *text, *says;
};

TEST(ParseBytes, SaysWhatIsWrong) {
  constexpr BadCase kCases[] = {{"", "empty"},
                                {"-1", "negative"},
                                {"512MB", "write 512M or 512Mi"},
                                {"512mb", "write 512M or 512Mi"},
                                {"64K", "write 64k or 64Ki"},
                                {"1KiB", "write 1k or 1Ki"},
                                {"5B", "write \"5\""},
                                {"100m", "thousandth"},
                                {"8Ei", "2^63-1"},
                                {"9223372036854775808", "2^63-1"},
                                {"99999999999999999999999999999999999999999999999999Ei", "2^63-1"},
                                {"0.5", "whole number of bytes"},
                                {"0.0000000000000000000000000000000000000000001Ei", "decimals"},
                                {"1e3", "no known unit"},
                                {"Mi", "not a size"},
                                {" 5", "not a size"},
                                {"5 ", "no known unit"},
                                {"5.", "no known unit"},
                                {".5", "not a size"},
                                {"+5", "not a size"},
                                {"0x10", "no known unit"},
                                {"NaN", "not a size"}};
  for (const auto& [text, says] : kCases) {
    const auto parsed = parse_bytes(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message(), HasSubstr(says)) << text;
  }
}

struct DurationCase {
  const char* text;
  std::int64_t millis;
};

TEST(ParseDuration, TakesUnitsAndBareSeconds) {
  constexpr DurationCase kCases[] = {
      {"0", 0},       {"30s", 30'000}, {"500ms", 500},           {"5m", 300'000},     {"1h", 3'600'000}, {"1m30s", 90'000},
      {"2.5", 2'500}, {"0.001", 1},    {"1h2m3s4ms", 3'723'004}, {"1.5h", 5'400'000}, {"0.05m", 3'000},  {"87648h", 315'532'800'000}};
  for (const auto& [text, millis] : kCases) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message();
    EXPECT_EQ(parsed->count(), millis) << text;
  }
}

TEST(ParseDuration, SaysWhatIsWrong) {
  constexpr BadCase kCases[] = {{"", "empty"},
                                {"-1s", "negative"},
                                {"5x", "units are h, m, s and ms"},
                                {"1d", "24h"},
                                {"0.0001", "finer than a millisecond"},
                                {"0.5ms", "finer"},
                                {"30s1m", "out of order"},
                                {"1s1s", "out of order"},
                                {"1m30", "no known unit"},
                                {"5 s", "no known unit"},
                                {"s", "not a duration"},
                                {"87649h", "ten years"},
                                {"999999999999999999999999999999999999999999h", "ten years"},
                                {"1e3", "no known unit"},
                                {"Infinity", "not a duration"},
                                {"5S", "no known unit"}};
  for (const auto& [text, says] : kCases) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().message(), HasSubstr(says)) << text;
  }
}

TEST(FormatUnits, IsReadBackAsTheSameValue) {
  EXPECT_EQ(format_bytes(0), "0");
  EXPECT_EQ(format_bytes(1500), "1500");
  EXPECT_EQ(format_bytes(512ULL << 20), "512Mi");
  EXPECT_EQ(format_bytes(1ULL << 62), "4Ei");
  EXPECT_EQ(format_bytes(1536), "1536");
  EXPECT_EQ(format_duration(milliseconds(0)), "0s");
  EXPECT_EQ(format_duration(milliseconds(500)), "500ms");
  EXPECT_EQ(format_duration(milliseconds(30'000)), "30s");
  EXPECT_EQ(format_duration(milliseconds(90'000)), "1m30s");
  EXPECT_EQ(format_duration(milliseconds(3'600'005)), "1h5ms");
  for (const std::uint64_t bytes : {1ULL, 1023ULL, 1024ULL, 1025ULL, 3ULL << 30, 9'223'372'036'854'775'807ULL})
    EXPECT_EQ(parse_bytes(format_bytes(bytes)).value(), bytes);
  for (const std::int64_t millis : {1LL, 999LL, 1000LL, 61'001LL, 315'532'800'000LL})
    EXPECT_EQ(parse_duration(format_duration(milliseconds(millis))).value().count(), millis);
}

}  // namespace
}  // namespace podjail
