#include "isolation/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "isolation/layer.h"
#include "policy/layer_names.h"
#include "sys/landlock_abi.h"

namespace podjail {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

// A restricted pod on a new kernel.
PodFacts pod(int abi = 7) {
  PodFacts facts;
  facts.kernel = "6.18.0";
  facts.uid = 1000;
  facts.seccomp_filters = 1;
  facts.no_new_privs = true;
  facts.landlock_abi = abi;
  facts.landlock =
      abi > 0 ? Offer{.available = true} : Offer{.available = false, .err = EOPNOTSUPP, .reason = "Landlock is off at boot (lsm=)"};
  facts.seccomp = facts.seccomp_notify = {.available = true};
  return facts;
}

Policy policy() {
  Policy value;
  value.limits.cpu = 1500ms;
  value.limits.memory = 256U << 20;
  value.limits.processes = 1;
  value.limits.threads = 64;
  value.limits.open_files = 256;
  value.limits.file_size = 64U << 20;
  value.filesystem.read = {"/usr"};
  value.isolation.require = {"no_new_privs", "seccomp", "landlock.filesystem", "rlimits"};
  return value;
}

const LayerPlan& line(const Plan& plan, std::string_view name) {
  const auto found = std::ranges::find(plan.layers, name, &LayerPlan::layer);
  if (found == plan.layers.end()) throw std::runtime_error("no layer " + std::string(name));
  return *found;
}

std::uint64_t access(const Plan& plan, std::string_view path) {
  const auto found = std::ranges::find(plan.landlock.paths, path, &LandlockPath::path);
  return found != plan.landlock.paths.end() ? found->access : 0;
}

const RlimitPlan* limit(const Plan& plan, int resource) {
  const auto found = std::ranges::find(plan.rlimits, resource, &RlimitPlan::resource);
  return found != plan.rlimits.end() ? &*found : nullptr;
}

TEST(Plan, ARestrictedPodGetsEverythingButNamespaces) {
  const Plan plan = make_plan(policy(), pod(), {});
  EXPECT_EQ(plan.tier, "T0");
  EXPECT_EQ(plan.layers.size(), layers().size());
  for (const LayerPlan& each : plan.layers) {
    EXPECT_EQ(each.planned, each.layer != "namespaces") << each.layer;
    EXPECT_EQ(each.planned, each.reason.empty()) << each.layer;
    EXPECT_EQ(each.planned, !each.mechanism.empty()) << each.layer;
  }
  EXPECT_TRUE(line(plan, "seccomp").required);
  EXPECT_FALSE(line(plan, "landlock.network").required);
  EXPECT_TRUE(missing_requirement(plan, policy()));
}

TEST(Plan, WithoutLandlockTheRunIsRefusedByName) {
  const Plan plan = make_plan(policy(), pod(0), {});
  EXPECT_FALSE(plan.landlock.on);
  EXPECT_EQ(line(plan, "landlock.filesystem").reason, "Landlock is off at boot (lsm=)");
  EXPECT_THAT(line(plan, "landlock.filesystem").enable, HasSubstr("lsm="));
  const auto missing = missing_requirement(plan, policy());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().subject, "landlock.filesystem");
  EXPECT_THAT(missing.error().message(), HasSubstr("off at boot"));
}

TEST(Plan, OlderLandlocksLackLayersAndSaySo) {
  for (int abi = 1; abi <= 9; ++abi) {
    const Plan plan = make_plan(policy(), pod(abi), {.scratch = "/work"});
    EXPECT_TRUE(line(plan, "landlock.filesystem").planned);
    EXPECT_EQ(line(plan, "landlock.network").planned, abi >= 4) << abi;
    EXPECT_EQ(line(plan, "landlock.scopes").planned, abi >= 6) << abi;
    EXPECT_EQ(plan.landlock.handled_fs, landlock::fs_rights(abi));
    EXPECT_EQ(plan.landlock.handled_net, landlock::net_rights(abi));
    EXPECT_EQ(plan.landlock.scoped, landlock::scopes(abi));
    for (const LandlockPath& path : plan.landlock.paths) EXPECT_EQ(path.access & ~plan.landlock.handled_fs, 0U) << abi << " " << path.path;
  }
  EXPECT_EQ(line(make_plan(policy(), pod(1), {}), "landlock.network").reason, "Landlock ABI 1 has no TCP rules (ABI 4 has)");
}

TEST(Plan, UnixSocketsOnlyWhereLandlockKeepsThemWithinTheRun) {
  Policy value = policy();
  EXPECT_FALSE(make_plan(value, pod(9), {}).seccomp.unix_sockets) << "scripts have no use for them";
  value.syscalls.base = Policy::SyscallBase::exec;
  const RunPaths paths{.scratch = "/work"};
  EXPECT_FALSE(make_plan(value, pod(8), paths).seccomp.unix_sockets);
  EXPECT_EQ(access(make_plan(value, pod(8), paths), "/work") & landlock::kMakeSock, 0U);
  const Plan plan = make_plan(value, pod(9), paths);
  EXPECT_TRUE(plan.seccomp.unix_sockets);
  EXPECT_NE(access(plan, "/work") & landlock::kMakeSock, 0U);
  for (const LandlockPath& path : plan.landlock.paths)
    EXPECT_EQ(path.access & landlock::kResolveUnix, 0U) << path.path << ": others' sockets";
  value.network.connect_tcp = {443};
  EXPECT_FALSE(make_plan(value, pod(9), paths).seccomp.unix_sockets) << "listen(2) would be open to TCP, too";
  value.network.bind_tcp = {80};
  EXPECT_TRUE(make_plan(value, pod(9), paths).seccomp.unix_sockets);
}

TEST(Plan, WithoutAListenerCallsAreOnlyDenied) {
  PodFacts facts = pod();
  facts.seccomp_notify = {.available = false, .err = EBUSY, .reason = "another seccomp listener is in the pod's process tree"};
  const Plan plan = make_plan(policy(), facts, {});
  EXPECT_TRUE(plan.seccomp.on);
  EXPECT_FALSE(plan.seccomp.listener);
  EXPECT_FALSE(line(plan, "seccomp.notify").planned);
  EXPECT_TRUE(missing_requirement(plan, policy()));
  facts.seccomp = {.available = false, .err = ENOSYS, .reason = "none"};
  const Plan none = make_plan(policy(), facts, {});
  EXPECT_EQ(missing_requirement(none, policy()).error().subject, "seccomp");
}

TEST(Plan, NamespacesCanBeAskedForInTwoWays) {
  Policy value = policy();
  value.isolation.namespaces = Policy::Namespaces::always;
  EXPECT_EQ(missing_requirement(make_plan(value, pod(), {}), value).error().subject, "namespaces");
  value = policy();
  value.isolation.require.emplace_back("namespaces");
  EXPECT_EQ(missing_requirement(make_plan(value, pod(), {}), value).error().subject, "namespaces");
}

// The policy's parser checks names against a list of its own.
TEST(Plan, ThePolicyKnowsEveryLayer) {
  std::vector<std::string_view> names;
  for (const Layer& layer : layers()) names.push_back(layer.name);
  EXPECT_THAT(kLayerNames, testing::UnorderedElementsAreArray(names));
}

TEST(Plan, AnUnknownLayerIsMissing) {
  Policy value = policy();
  value.isolation.require = {"landlock.filesytem"};
  EXPECT_EQ(missing_requirement(make_plan(value, pod(), {}), value).error().subject, "landlock.filesytem");
}

TEST(Plan, PathsOfAPythonRun) {
  Policy value = policy();
  value.filesystem.write = {"/data"};
  const RunPaths paths{.runner = "/opt/podjail-python3.11",
                       .python_executable = "/usr/bin/python3.11",
                       .scratch = "/s/work",
                       .script_dir = "/s/script",
                       .input_dir = "/in"};
  const Plan plan = make_plan(value, pod(), paths);
  using namespace landlock;
  EXPECT_EQ(access(plan, "/usr"), kReadFile | kReadDir);
  EXPECT_EQ(access(plan, "/in"), kReadFile | kReadDir);
  EXPECT_EQ(access(plan, "/s/script"), kReadFile | kReadDir);
  for (const char* writable : {"/data", "/s/work"}) {
    const std::uint64_t rights = access(plan, writable);
    EXPECT_EQ(rights & (kExecute | kMakeChar | kMakeBlock | kMakeSock | kIoctlDev), 0U) << writable;
    EXPECT_EQ(rights, fs_rights(7) & ~(kExecute | kMakeChar | kMakeBlock | kMakeSock | kIoctlDev)) << writable;
  }
  EXPECT_EQ(access(plan, "/opt/podjail-python3.11"), kExecute | kReadFile);
  EXPECT_EQ(access(plan, "/lib64/ld-linux-x86-64.so.2"), kExecute | kReadFile);
  EXPECT_EQ(access(plan, "/dev/shm"), kReadFile | kWriteFile | kTruncate | kRemoveFile | kMakeReg);  // not to be listed
  EXPECT_EQ(access(plan, "/usr/bin/python3.11"), kReadFile);
  EXPECT_EQ(access(plan, "/usr/lib"), kReadFile | kReadDir);  // what Python needs doesn't depend on filesystem.read
  EXPECT_EQ(access(plan, "/etc/python3.11"), kReadFile | kReadDir);
  EXPECT_EQ(access(plan, "/proc"), 0U);
  EXPECT_EQ(access(plan, "/dev/tty"), 0U);
  EXPECT_TRUE(plan.landlock.own_proc);
  EXPECT_FALSE(plan.seccomp.processes);
  EXPECT_FALSE(plan.seccomp.execute);

  value.syscalls.base = Policy::SyscallBase::exec;
  const Plan exec = make_plan(value, pod(), paths);
  EXPECT_EQ(access(exec, "/s/work"), access(plan, "/s/work") | kExecute);
  EXPECT_EQ(access(exec, "/s/script"), kExecute | kReadFile | kReadDir);
  EXPECT_EQ(access(exec, "/in"), kExecute | kReadFile | kReadDir);
  for (const char* terminal : {"/dev/ptmx", "/dev/tty"}) {
    EXPECT_EQ(access(exec, terminal), kReadFile | kWriteFile | kIoctlDev);
    EXPECT_EQ(access(plan, terminal), 0U);
  }
  EXPECT_EQ(access(exec, "/dev/pts"), 0U);
  value.syscalls.base = Policy::SyscallBase::python;
  value.limits.processes = 8;
  const Plan many = make_plan(value, pod(), paths);
  EXPECT_EQ(access(many, "/dev/shm"), access(plan, "/dev/shm"));
  EXPECT_EQ(access(many, "/usr/bin/python3.11"), kExecute | kReadFile);
  EXPECT_TRUE(many.seccomp.processes);
  EXPECT_TRUE(many.seccomp.execute);
  value.limits.processes = 1;
  value.limits.threads = 1;
  EXPECT_EQ(access(make_plan(value, pod(), paths), "/dev/shm"), 0U);
  value.limits.processes.reset();
  EXPECT_TRUE(make_plan(value, pod(), paths).seccomp.processes);
}

TEST(Plan, ExecutionIsAskedForByBaseOrPaths) {
  Policy value = policy();
  value.filesystem.execute = {"/usr/bin/tool"};
  EXPECT_TRUE(make_plan(value, pod(), {}).seccomp.execute);
  value.filesystem.execute.clear();
  value.syscalls.base = Policy::SyscallBase::exec;
  EXPECT_TRUE(make_plan(value, pod(), {}).seccomp.execute);
}

TEST(Plan, SocketsOnlyWherePortsCanBeLimited) {
  Policy value = policy();
  EXPECT_FALSE(make_plan(value, pod(), {}).seccomp.tcp);
  value.network.connect_tcp = {443};
  const Plan plan = make_plan(value, pod(), {});
  EXPECT_TRUE(plan.seccomp.tcp);
  EXPECT_FALSE(plan.seccomp.tcp_listen);
  ASSERT_EQ(plan.landlock.ports.size(), 1U);
  EXPECT_EQ(plan.landlock.ports[0].port, 443);
  EXPECT_EQ(plan.landlock.ports[0].access, landlock::kConnectTcp);
  EXPECT_FALSE(make_plan(value, pod(3), {}).seccomp.tcp);
  EXPECT_TRUE(make_plan(value, pod(3), {}).landlock.ports.empty());
  value.network.bind_tcp = {8080};
  EXPECT_TRUE(make_plan(value, pod(), {}).seccomp.tcp_listen);
}

TEST(Plan, Limits) {
  const Plan plan = make_plan(policy(), pod(), {});
  EXPECT_EQ(limit(plan, RLIMIT_DATA)->hard, (256U << 20) + 64U * (8U << 20));
  EXPECT_EQ(limit(plan, RLIMIT_CPU)->soft, 3U);  // 1.5 s, rounded up, and one
  EXPECT_EQ(limit(plan, RLIMIT_CPU)->hard, 4U);
  EXPECT_EQ(limit(plan, RLIMIT_NOFILE)->soft, 256U);
  EXPECT_EQ(limit(plan, RLIMIT_CORE)->hard, 0U);
  EXPECT_EQ(limit(plan, RLIMIT_MSGQUEUE)->hard, 0U);
  EXPECT_EQ(limit(plan, RLIMIT_STACK), nullptr);
  EXPECT_EQ(limit(plan, RLIMIT_NPROC), nullptr);  // counts the UID's on the whole node
  Policy value = policy();
  value.limits.threads.reset();
  value.limits.cpu.reset();
  value.limits.file_size.reset();
  const Plan unlimited = make_plan(value, pod(), {});
  for (const int resource : {RLIMIT_DATA, RLIMIT_CPU, RLIMIT_FSIZE}) EXPECT_EQ(limit(unlimited, resource), nullptr) << resource;
  value = policy();
  value.syscalls.base = Policy::SyscallBase::exec;
  EXPECT_EQ(limit(make_plan(value, pod(), {}), RLIMIT_DATA), nullptr);
}

}  // namespace
}  // namespace podjail
