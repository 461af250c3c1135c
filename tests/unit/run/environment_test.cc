#include "run/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace podjail {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

TEST(Environment, OnlyWhatThePolicyPassesComesThrough) {
  Policy::Environment policy;
  policy.pass = {"LANG", "LC_*", "LD_PRELOAD", "PODJAIL_KEY"};
  policy.set = {{"MODE", "test"}};
  EnvironmentFacts facts;
  facts.own = {{"LANG", "C"}, {"LC_ALL", "de"}, {"SECRET", "1"}, {"LD_PRELOAD", "/x.so"}, {"PODJAIL_KEY", "k"}};
  facts.work = "/s/work";
  facts.output = "/s/work/output";
  facts.tmp = "/s/tmp";
  facts.home = "/s/home";
  facts.run_id = "r-1";
  facts.cpus = 2;
  const auto list = make_environment(policy, facts, {"EXTRA=a=b"});
  EXPECT_THAT(list, Contains("LANG=C"));
  EXPECT_THAT(list, Contains("LC_ALL=de"));
  EXPECT_THAT(list, Contains("MODE=test"));
  EXPECT_THAT(list, Contains("EXTRA=a=b"));
  EXPECT_THAT(list, Contains("HOME=/s/home"));
  EXPECT_THAT(list, Contains("TMPDIR=/s/tmp"));
  EXPECT_THAT(list, Contains("PODJAIL_OUTPUT_DIR=/s/work/output"));
  EXPECT_THAT(list, Contains("OMP_NUM_THREADS=2"));
  EXPECT_THAT(list, Not(Contains(StartsWith("SECRET"))));
  EXPECT_THAT(list, Not(Contains(StartsWith("LD_PRELOAD"))));
  EXPECT_THAT(list, Not(Contains(StartsWith("PODJAIL_KEY"))));
  EXPECT_THAT(list, Not(Contains(StartsWith("PODJAIL_INPUT_DIR"))));
}

}  // namespace
}  // namespace podjail
