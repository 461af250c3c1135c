#include "isolation/enter_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "isolation/probe.h"
#include "isolation/supervisor_guard.h"
#include "support/fork_harness.h"
#include "sys/landlock.h"
#include "sys/proc_read.h"

namespace podjail {
namespace {

using test::ChildEnd;
using test::in_child;

const ChildEnd kFine{.code = 0, .signal = 0};

int shows_no_capabilities(const ProcStatus& status) {
  if (!status.no_new_privs) return 1;
  return (status.cap_effective | status.cap_permitted | status.cap_inheritable | status.cap_ambient) == 0 ? 0 : 2;
}

TEST(EnterJail, LeavesNoCapability) {
  const ChildEnd end = in_child([] {
    if (enter_jail({}).err != 0) return 10;
    const auto status = read_proc_status(::getpid());
    return status ? shows_no_capabilities(*status) : 11;
  });
  EXPECT_EQ(end, kFine);
}

// Root's exec would get every capability of the bounding set back.
TEST(EnterJail, RootGetsNothingBackByExec) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const ChildEnd end = in_child([] {
    if (enter_jail({}).err != 0) return 10;
    ::execl("/bin/grep", "grep", "-q", "^CapEff:.*[1-9a-f]", "/proc/self/status", nullptr);
    return 11;
  });
  EXPECT_EQ(end.code, 1);  // no line matches
  const ChildEnd control = in_child([] {
    ::execl("/bin/grep", "grep", "-q", "^CapEff:.*[1-9a-f]", "/proc/self/status", nullptr);
    return 11;
  });
  EXPECT_EQ(control.code, 0);
}

// The same where the bounding set and the secure bits can't be touched (no CAP_SETPCAP): no_new_privs alone has to do.
TEST(EnterJail, RootWithoutSetpcapGetsNothingBackByExec) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const ChildEnd end = in_child([] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
    if (::syscall(SYS_capget, &header, sets) != 0) return 10;
    sets[0].effective &= ~(1U << CAP_SETPCAP);
    sets[0].permitted &= ~(1U << CAP_SETPCAP);
    if (::syscall(SYS_capset, &header, sets) != 0 || enter_jail({}).err != 0) return 11;
    if (::prctl(PR_CAPBSET_READ, CAP_CHOWN, 0, 0, 0) != 1) return 12;  // the bounding set is still there
    ::execl("/bin/grep", "grep", "-q", "^CapEff:.*[1-9a-f]", "/proc/self/status", nullptr);
    return 13;
  });
  EXPECT_EQ(end.code, 1);
}

TEST(EnterJail, SetsLimitsAndNeverRaisesThem) {
  const ChildEnd end = in_child([] {
    const rlimit inherited{100, 200};
    if (::setrlimit(RLIMIT_NOFILE, &inherited) != 0 || !test::become_unprivileged()) return 10;
    const RlimitPlan limits[] = {{RLIMIT_NOFILE, 256, 512}, {RLIMIT_CORE, 0, 0}, {RLIMIT_FSIZE, 1000, 2000}};
    if (enter_jail({.rlimits = limits, .rlimit_count = std::size(limits)}).err != 0) return 11;
    rlimit files{}, size{}, core{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    ::getrlimit(RLIMIT_FSIZE, &size);
    ::getrlimit(RLIMIT_CORE, &core);
    const bool right =
        files.rlim_cur == 200 && files.rlim_max == 200 && size.rlim_cur == 1000 && size.rlim_max == 2000 && core.rlim_max == 0;
    return right ? 0 : 1;
  });
  EXPECT_EQ(end, kFine);
}

TEST(LandlockRuleset, NamesThePathThatIsMissing) {
  if (landlock::abi_version() < 1) GTEST_SKIP() << "no Landlock here";
  LandlockPlan plan{.on = true, .handled_fs = landlock::fs_rights(1), .paths = {{"/no/such/path", landlock::kReadFile, true}}};
  EXPECT_TRUE(make_landlock_ruleset(plan));
  plan.paths[0].optional = false;
  const auto ruleset = make_landlock_ruleset(plan);
  ASSERT_FALSE(ruleset);
  EXPECT_EQ(ruleset.error().err, ENOENT);
  EXPECT_EQ(ruleset.error().subject, "/no/such/path");
}

// Rights of folders on a file are EINVAL for the kernel: they are masked, a rule that is then empty is left out.
TEST(LandlockRuleset, TakesFilesAndDevices) {
  if (landlock::abi_version() < 1) GTEST_SKIP() << "no Landlock here";
  const LandlockPlan plan{.on = true,
                          .handled_fs = landlock::fs_rights(1),
                          .paths = {{"/etc/passwd", landlock::fs_rights(1), false},
                                    {"/dev/null", landlock::fs_rights(1), false},
                                    {"/etc/passwd", landlock::kReadDir, false}}};
  const auto ruleset = make_landlock_ruleset(plan);
  EXPECT_TRUE(ruleset) << (ruleset ? "" : ruleset.error().message());
}

TEST(LandlockRuleset, LetsThroughWhatIsListedAndNoMore) {
  if (landlock::abi_version() < 1) GTEST_SKIP() << "no Landlock here";
  const test::TemporaryFolder folder;
  for (const char* name : {"/inside", "/outside"}) {
    ::mkdir((folder.path() + name).c_str(), 0777);
    std::ofstream(folder.path() + name + "/file") << "x";
  }
  const std::string inside = folder.path() + "/inside/file", outside = folder.path() + "/outside/file";
  const auto opens = [](const std::string& path, int flags) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
    const int err = fd < 0 ? errno : 0;
    if (fd >= 0) ::close(fd);
    return err;
  };
  const ChildEnd end = in_child([&] {
    if (!test::become_unprivileged() || opens(inside, O_RDONLY) != 0 || opens(outside, O_RDONLY) != 0) return 10;  // the control
    const LandlockPlan plan{
        .on = true, .handled_fs = landlock::fs_rights(1), .paths = {{folder.path() + "/inside", landlock::kReadFile, false}}};
    const auto ruleset = make_landlock_ruleset(plan);
    if (!ruleset || enter_jail({.landlock_ruleset = ruleset->get(), .own_proc = true}).err != 0) return 11;
    if (opens(inside, O_RDONLY) != 0) return 1;
    if (opens(inside, O_WRONLY) != EACCES) return 2;
    if (opens(outside, O_RDONLY) != EACCES) return 3;
    if (opens("/proc/self/status", O_RDONLY) != 0) return 4;
    if (opens("/proc/" + std::to_string(::getppid()) + "/status", O_RDONLY) != EACCES) return 5;
    return 0;
  });
  EXPECT_EQ(end, kFine);
}

// Alone, without seccomp: no signal and no abstract socket leaves the domain, its own child is reached.
TEST(LandlockRuleset, ScopesHoldByThemselves) {
  if (landlock::abi_version() < 6) GTEST_SKIP() << "needs Landlock ABI 6";
  const auto connects = [](const sockaddr_un& address, socklen_t length) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0 ? 0 : errno;
  };
  const ChildEnd end = in_child([&] {
    if (!test::become_unprivileged()) return 10;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // An abstract name that the kernel chooses (unix(7), autobind).
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(sa_family_t)) != 0 || ::listen(listener, 8) != 0) return 11;
    socklen_t length = sizeof address;
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
    const ChildEnd confined = in_child([&] {
      if (::kill(::getppid(), 0) != 0 || connects(address, length) != 0) return 12;  // the control
      const LandlockPlan plan{.on = true, .scoped = landlock::scopes(6)};
      const auto ruleset = make_landlock_ruleset(plan);
      if (!ruleset || enter_jail({.landlock_ruleset = ruleset->get()}).err != 0) return 13;
      if (::kill(::getppid(), 0) == 0 || errno != EPERM) return 1;
      if (connects(address, length) != EPERM) return 2;
      const pid_t child = ::fork();
      if (child == 0) {
        ::sleep(10);  // bounded: nothing is left over when the test fails
        ::_exit(0);
      }
      return ::kill(child, SIGKILL) == 0 && test::wait_for(child).signal == SIGKILL ? 0 : 3;
    });
    return confined.code;
  });
  EXPECT_EQ(end, kFine);
}

TEST(SupervisorGuard, DropsWhatItHasAndStillRulesItsChildren) {
  const ChildEnd end = in_child([] {
    const pid_t child = ::fork();
    if (child == 0) {
      ::sleep(10);  // bounded: nothing is left over when the test fails
      ::_exit(0);
    }
    if (const auto dropped = drop_own_capabilities(); !dropped) return 10;
    const auto status = read_proc_status(::getpid());
    if (!status || shows_no_capabilities(*status) != 0) return 1;
    if (::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0) return 2;
    const rlimit lower{10, 20};
    if (::prlimit(child, RLIMIT_NOFILE, &lower, nullptr) != 0) return 3;
    if (::kill(child, SIGKILL) != 0) return 4;
    return test::wait_for(child).signal == SIGKILL ? 0 : 5;
  });
  EXPECT_EQ(end, kFine);
}

TEST(SupervisorGuard, WorksWithoutAnyCapability) {
  const ChildEnd end = in_child([] { return test::become_unprivileged() && drop_own_capabilities() ? 0 : 1; });
  EXPECT_EQ(end, kFine);
}

TEST(Probe, TellsThisMachine) {
  const PodFacts facts = probe_pod();
  EXPECT_FALSE(facts.kernel.empty());
  EXPECT_EQ(facts.supervisor_pid, ::getpid());
  EXPECT_GE(facts.cpus, 1);
  EXPECT_EQ(facts.landlock.available, facts.landlock_abi > 0);
  for (const Offer* offer : {&facts.landlock, &facts.seccomp, &facts.seccomp_notify}) EXPECT_EQ(offer->available, offer->reason.empty());
  EXPECT_EQ(probe_pod(1).landlock_abi, std::min(facts.landlock_abi, 1));
  EXPECT_FALSE(probe_pod(0).landlock.available);
}

TEST(Probe, TryingChangesNothingHere) {
  PodFacts facts = probe_pod();
  const auto before = read_proc_status(::getpid());
  probe_by_trying(facts);
  const auto after = read_proc_status(::getpid());
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->seccomp_filters, after->seccomp_filters);
  EXPECT_EQ(before->no_new_privs, after->no_new_privs);
  EXPECT_EQ(before->cap_bounding, after->cap_bounding);
  EXPECT_EQ(facts.user_namespaces.available, facts.user_namespaces.reason.empty());
}

}  // namespace
}  // namespace podjail
