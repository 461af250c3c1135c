#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/resource.h>

#include <algorithm>

#include "isolation/landlock_plan.h"
#include "isolation/layer.h"
#include "sys/landlock_abi.h"

namespace podjail {
namespace {

Offer available() {
  return {.available = true};
}
Offer missing(std::string reason) {
  return {.available = false, .err = 0, .reason = std::move(reason)};
}

bool has_capability(std::uint64_t set, unsigned capability) {
  return (set >> capability & 1) != 0;
}

// --- namespaces

Offer offer_namespaces(const PodFacts&) {
  return missing("this version of podjail enters no namespaces");
}
void plan_nothing(const LayerInput&, Plan&, LayerPlan&) {}
Expected<void> verify_nothing(const Plan&, const PodFacts&, const ProcStatus&, const ChildReport&) {
  return {};
}

// --- no_new_privs

Offer offer_always(const PodFacts&) {
  return available();
}
void plan_no_new_privs(const LayerInput&, Plan&, LayerPlan& line) {
  line.mechanism = "prctl(PR_SET_NO_NEW_PRIVS)";
}
Expected<void> verify_no_new_privs(const Plan&, const PodFacts&, const ProcStatus& status, const ChildReport&) {
  if (!status.no_new_privs) return fail("/proc/PID/status shows NoNewPrivs 0");
  return {};
}

// --- capabilities

void plan_capabilities(const LayerInput& input, Plan&, LayerPlan& line) {
  const bool drops_bounding = has_capability(input.facts.cap_effective, CAP_SETPCAP) || input.facts.cap_bounding == 0;
  line.mechanism = drops_bounding
                       ? "all five sets empty"
                       : "effective, permitted, inheritable and ambient sets empty; the bounding set needs CAP_SETPCAP to be emptied, and "
                         "no_new_privs makes it moot";
}
Expected<void> verify_capabilities(const Plan&, const PodFacts& facts, const ProcStatus& status, const ChildReport&) {
  if ((status.cap_effective | status.cap_permitted | status.cap_inheritable | status.cap_ambient) != 0) {
    return fail("/proc/PID/status shows capabilities");
  }
  if (has_capability(facts.cap_effective, CAP_SETPCAP) && status.cap_bounding != 0) return fail("/proc/PID/status shows a bounding set");
  return {};
}

// --- rlimits

constexpr std::uint64_t kThreadStack = 8U << 20;  ///< bytes of VmData of one idle thread: its stack, by RLIMIT_STACK's default

void plan_rlimits(const LayerInput& input, Plan& plan, LayerPlan& line) {
  const Policy::Limits& limits = input.policy.limits;
  const auto add = [&](int resource, std::uint64_t soft, std::uint64_t hard) { plan.rlimits.push_back({resource, soft, hard}); };
  // Anonymous memory of one process, so that Python gets a MemoryError. Not for `exec`: programs with large reservations (ASan, Go, Java)
  // abort under it.
  if (input.policy.syscalls.base == Policy::SyscallBase::python && limits.memory && limits.threads) {
    const std::uint64_t data = *limits.memory + *limits.threads * kThreadStack;
    add(RLIMIT_DATA, data, data);
  }
  // A backstop of the supervisor's own CPU limit, which counts the tree and in milliseconds: whole seconds, one more, and one more to the
  // KILL.
  if (limits.cpu) {
    const auto seconds = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(*limits.cpu).count());
    add(RLIMIT_CPU, seconds + 1, seconds + 2);
  }
  if (limits.open_files) add(RLIMIT_NOFILE, *limits.open_files, *limits.open_files);
  if (limits.file_size) add(RLIMIT_FSIZE, *limits.file_size, *limits.file_size);
  for (const int resource : {RLIMIT_CORE, RLIMIT_MSGQUEUE, RLIMIT_NICE, RLIMIT_RTPRIO}) add(resource, 0, 0);
  line.mechanism = "setrlimit";
}

// Hard limits only: the soft ones are lower while the script is checked.
Expected<void> verify_rlimits(const Plan& plan, const PodFacts&, const ProcStatus& status, const ChildReport&) {
  for (const RlimitPlan& limit : plan.rlimits) {
    rlimit actual{};
    if (::prlimit(status.tgid, static_cast<__rlimit_resource>(limit.resource), nullptr, &actual) != 0) return fail("prlimit", errno);
    if (actual.rlim_max > limit.hard) return fail("limit " + std::to_string(limit.resource) + " is above the planned one");
  }
  return {};
}

// --- Landlock

Offer offer_landlock(const PodFacts& facts) {
  return facts.landlock;
}
Offer needs_abi(const PodFacts& facts, int abi, const char* what) {
  if (!facts.landlock.available || facts.landlock_abi >= abi) return facts.landlock;
  return missing("Landlock ABI " + std::to_string(facts.landlock_abi) + " has no " + what + " (ABI " + std::to_string(abi) + " has)");
}
Offer offer_landlock_network(const PodFacts& facts) {
  return needs_abi(facts, 4, "TCP rules");
}
Offer offer_landlock_scopes(const PodFacts& facts) {
  return needs_abi(facts, 6, "scopes");
}

// No field of /proc shows Landlock: the child tries a path that only Landlock keeps from it. One ruleset holds all three layers.
Expected<void> verify_landlock(const Plan&, const PodFacts&, const ProcStatus&, const ChildReport& report) {
  if (report.landlock_probe_err == EACCES) return {};
  if (report.landlock_probe_err == 0) return fail("a path outside the policy could be opened");
  return fail("opening a path outside the policy failed in an unexpected way", report.landlock_probe_err);
}

// --- seccomp

Offer offer_seccomp(const PodFacts& facts) {
  return facts.seccomp;
}
void plan_seccomp(const LayerInput& input, Plan& plan, LayerPlan& line) {
  const Policy& policy = input.policy;
  SeccompPlan& seccomp = plan.seccomp;
  seccomp.on = true;
  seccomp.base = policy.syscalls.base;
  seccomp.allow = policy.syscalls.allow;
  seccomp.deny = policy.syscalls.deny;
  seccomp.processes = policy.limits.processes != 1U;
  seccomp.execute =
      input.paths.command || seccomp.base == Policy::SyscallBase::exec || seccomp.processes || !policy.filesystem.execute.empty();
  // Without Landlock's TCP rules a socket would reach every port: then there is none.
  const bool ports_limited = plan.landlock.handled_net != 0;
  seccomp.tcp = ports_limited && (!policy.network.connect_tcp.empty() || !policy.network.bind_tcp.empty());
  seccomp.tcp_listen = ports_limited && !policy.network.bind_tcp.empty();
  const std::uint64_t kept = plan.landlock.handled_fs & landlock::kResolveUnix;
  seccomp.unix_sockets = seccomp.base == Policy::SyscallBase::exec && kept != 0 &&
                         (plan.landlock.scoped & landlock::kScopeAbstractUnix) != 0 && (!seccomp.tcp || seccomp.tcp_listen);
  line.mechanism = "seccomp-bpf, 2 filters";
}

constexpr int kFilters = 2;

Expected<void> verify_seccomp(const Plan&, const PodFacts& facts, const ProcStatus& status, const ChildReport&) {
  if (status.seccomp_mode != SECCOMP_MODE_FILTER) return fail("/proc/PID/status shows no filter");
  if (status.seccomp_filters != facts.seccomp_filters + kFilters) {
    return fail("/proc/PID/status shows " + std::to_string(status.seccomp_filters) + " filters instead of " +
                std::to_string(facts.seccomp_filters + kFilters));
  }
  if (status.threads != 1) return fail("the process has " + std::to_string(status.threads) + " threads before the script starts");
  return {};
}

Offer offer_notify(const PodFacts& facts) {
  return facts.seccomp.available ? facts.seccomp_notify : facts.seccomp;
}
void plan_notify(const LayerInput& input, Plan& plan, LayerPlan& line) {
  plan.seccomp.listener = true;
  plan.seccomp.count_tasks = input.policy.syscalls.base == Policy::SyscallBase::python;
  line.mechanism = plan.seccomp.count_tasks
                       ? "user notification: denied calls are recorded, processes and threads counted"
                       : "user notification: denied calls are recorded; processes and threads are counted by the watcher";
}
Expected<void> verify_notify(const Plan&, const PodFacts&, const ProcStatus&, const ChildReport& report) {
  if (!report.listener_arrived) return fail("no listener arrived", report.listener_err);
  return {};
}

constexpr Layer kLayers[] = {
    // First, as everything after it is seen from within, and as making them needs capabilities that the next ones take away.
    {"namespaces", offer_namespaces, plan_nothing, verify_nothing, ""},
    // Before Landlock and seccomp, which the kernel gives to the unprivileged only with it; before exec, so that no program gives anything
    // back.
    {"no_new_privs", offer_always, plan_no_new_privs, verify_no_new_privs, ""},
    // Before the limits, so that nothing after them could raise them (CAP_SYS_RESOURCE).
    {"capabilities", offer_always, plan_capabilities, verify_capabilities, ""},
    // Before the filters: setting them is still allowed.
    {"rlimits", offer_always, plan_rlimits, verify_rlimits, ""},
    // Before seccomp and before exec: the interpreter already starts under it. One ruleset, three layers.
    {"landlock.filesystem", offer_landlock, plan_landlock_filesystem, verify_landlock,
     "node kernel with CONFIG_SECURITY_LANDLOCK and landlock in lsm="},
    {"landlock.network", offer_landlock_network, plan_landlock_network, verify_landlock, "node kernel 6.7 or newer with Landlock"},
    {"landlock.scopes", offer_landlock_scopes, plan_landlock_scopes, verify_landlock, "node kernel 6.12 or newer with Landlock"},
    // Last, in the program itself when it has started, as it forbids what starting needs; before the first untrusted byte.
    {"seccomp", offer_seccomp, plan_seccomp, verify_seccomp, "securityContext.seccompProfile.type: RuntimeDefault"},
    {"seccomp.notify", offer_notify, plan_notify, verify_notify, "node kernel 5.7 or newer, and no other seccomp listener on the pod"},
};

}  // namespace

std::span<const Layer> layers() {
  return kLayers;
}

}  // namespace podjail
