#include "isolation/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace podjail {
namespace {

using testing::HasSubstr;

struct World {
  Policy policy;
  PodFacts facts;
  Plan plan;
  ProcStatus status;
  ChildReport report;
};

// Everything as it should be; each test breaks one thing.
World confined() {
  World world;
  world.policy.limits.processes = 1;
  world.facts.seccomp_filters = 1;
  world.facts.landlock_abi = 7;
  world.facts.landlock = world.facts.seccomp = world.facts.seccomp_notify = {.available = true};
  world.plan = make_plan(world.policy, world.facts, {});
  world.plan.rlimits.clear();  // the kernel is asked for those of `status.tgid`
  world.status.tgid = ::getpid();
  world.status.threads = 1;
  world.status.seccomp_mode = 2;
  world.status.seccomp_filters = 3;
  world.status.no_new_privs = true;
  world.report = {.landlock_probe_err = EACCES, .listener_arrived = true, .listener_err = 0};
  return world;
}

Expected<std::vector<LayerReport>> verify(const World& world) {
  return verify_confinement(world.plan, world.facts, world.status, world.report);
}

void expect_refused(const World& world, const char* layer, const char* text) {
  const auto reports = verify(world);
  ASSERT_FALSE(reports) << layer;
  EXPECT_EQ(reports.error().subject, layer);
  EXPECT_THAT(reports.error().message(), HasSubstr(text));
}

TEST(Verify, ReportsEachLayer) {
  const auto reports = verify(confined());
  ASSERT_TRUE(reports) << reports.error().message();
  EXPECT_EQ(reports->size(), 9U);
  for (const LayerReport& report : *reports) {
    EXPECT_EQ(report.enforced, report.layer != "namespaces");
    EXPECT_NE(report.mechanism.empty(), report.enforced);
    EXPECT_EQ(report.reason.empty(), report.enforced);
  }
}

TEST(Verify, RefusesWhatTheKernelDoesNotShow) {
  World world = confined();
  world.status.no_new_privs = false;
  expect_refused(world, "no_new_privs", "NoNewPrivs 0");

  for (auto set : {&ProcStatus::cap_effective, &ProcStatus::cap_permitted, &ProcStatus::cap_inheritable, &ProcStatus::cap_ambient}) {
    world = confined();
    world.status.*set = 1;
    expect_refused(world, "capabilities", "capabilities");
  }
  world = confined();
  world.status.cap_bounding = 1;
  EXPECT_TRUE(verify(world));           // could not be emptied
  world.facts.cap_effective = 1U << 8;  // CAP_SETPCAP
  expect_refused(world, "capabilities", "bounding");

  world = confined();
  world.report.landlock_probe_err = 0;
  expect_refused(world, "landlock.filesystem", "could be opened");
  world.report.landlock_probe_err = ENOENT;
  expect_refused(world, "landlock.filesystem", "No such file");

  world = confined();
  world.status.seccomp_mode = 0;
  expect_refused(world, "seccomp", "no filter");
  for (const int filters : {0, 1, 2, 4}) {
    world = confined();
    world.status.seccomp_filters = filters;
    expect_refused(world, "seccomp", "filters instead of 3");
  }
  world = confined();
  world.status.threads = 2;
  expect_refused(world, "seccomp", "2 threads");
}

TEST(Verify, AsksTheKernelForTheLimits) {
  World world = confined();
  rlimit own{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &own), 0);
  world.plan.rlimits = {{RLIMIT_NOFILE, own.rlim_cur, own.rlim_max}};
  EXPECT_TRUE(verify(world));
  world.plan.rlimits = {{RLIMIT_NOFILE, 1, own.rlim_max - 1}};
  expect_refused(world, "rlimits", "above the planned");
}

TEST(Verify, ARefusedListenerIsReportedUnlessRequired) {
  World world = confined();
  world.report.listener_arrived = false;
  expect_refused(world, "seccomp.notify", "no listener arrived");  // it neither came nor failed: something is wrong
  world.report.listener_err = EBUSY;
  const auto reports = verify(world);
  ASSERT_TRUE(reports);
  const auto notify = std::ranges::find(*reports, "seccomp.notify", &LayerReport::layer);
  EXPECT_FALSE(notify->enforced);
  EXPECT_THAT(notify->reason, HasSubstr("EBUSY"));
  world.policy.isolation.require = {"seccomp.notify"};
  world.plan.layers = make_plan(world.policy, world.facts, {}).layers;
  expect_refused(world, "seccomp.notify", "busy");
}

}  // namespace
}  // namespace podjail
