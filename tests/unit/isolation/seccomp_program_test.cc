#include "isolation/seccomp_program.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <set>

#include "isolation/answered_calls.h"
#include "isolation/seccomp_compile.h"
#include "isolation/syscall_groups.h"
#include "support/bpf_evaluator.h"

namespace podjail {
namespace {

using test::call;
using test::evaluate;
using test::most_restrictive;
using testing::HasSubstr;
using Args = std::array<std::uint64_t, 6>;

constexpr pid_t kSupervisor = 4321;
constexpr std::uint64_t kHigh = 1UL << 32;
constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW, kNotify = SECCOMP_RET_USER_NOTIF, kKill = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t kEperm = SECCOMP_RET_ERRNO | EPERM, kEnosys = SECCOMP_RET_ERRNO | ENOSYS;

SeccompPlan python_plan() {
  return {.on = true, .base = Policy::SyscallBase::python, .listener = true, .count_tasks = true};
}
SeccompPlan exec_plan() {
  return {.on = true, .base = Policy::SyscallBase::exec, .listener = true, .processes = true, .execute = true};
}

// Both filters, as the kernel combines them.
class Filters {
 public:
  explicit Filters(const SeccompPlan& plan) {
    auto compiled = compile_seccomp(plan, kSupervisor);
    EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().message());
    if (compiled) program_ = std::move(*compiled);
  }
  [[nodiscard]] std::uint32_t operator()(int number, Args args = {}, std::uint32_t arch = AUDIT_ARCH_X86_64) const {
    const seccomp_data data = call(number, args, arch);
    return most_restrictive(evaluate(program_.guard, data), evaluate(program_.allow_list, data));
  }
  [[nodiscard]] std::uint32_t fallback(int number, Args args = {}) const {
    const seccomp_data data = call(number, args);
    return most_restrictive(evaluate(program_.guard, data), evaluate(program_.fallback, data));
  }
  [[nodiscard]] const SeccompProgram& program() const { return program_; }

 private:
  SeccompProgram program_;
};

std::uint64_t negative(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

TEST(SeccompProgram, FitsTheKernel) {
  for (const SeccompPlan& plan : {python_plan(), exec_plan()}) {
    const Filters filters(plan);
    EXPECT_LT(filters.program().allow_list.size(), 4096U);
    EXPECT_LT(filters.program().fallback.size(), 4096U);
    EXPECT_GT(filters.program().guard.size(), 3U);
  }
}

TEST(SeccompProgram, AllowsEveryMemberOfItsGroups) {
  for (const SeccompPlan& plan : {python_plan(), exec_plan()}) {
    const Filters filters(plan);
    const Bases base = plan.base == Policy::SyscallBase::python ? in_python : in_exec;
    for (const SyscallGroup& group : syscall_groups()) {
      for (const char* name : group.members) {
        const int number = syscall_number(name);
        ASSERT_GE(number, 0) << name;
        const bool in_base = (group.bases & base) != 0;
        EXPECT_EQ(filters(number, {~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL}), in_base ? kAllow : kNotify) << name;
        EXPECT_EQ(filters.fallback(number), in_base ? kAllow : kEperm) << name;
      }
    }
  }
}

// What was compiled into podjail is what libseccomp gives for the same plan.
TEST(SeccompProgram, TablesAreWhatLibseccompMakes) {
  const auto same = [](std::span<const sock_filter> a, const std::vector<sock_filter>& b) {
    return std::ranges::equal(
        a, b, [](const sock_filter& x, const sock_filter& y) { return x.code == y.code && x.jt == y.jt && x.jf == y.jf && x.k == y.k; });
  };
  EXPECT_EQ(prebuilt_filters().size(), 4U);
  for (const PrebuiltFilters& row : prebuilt_filters()) {
    for (const bool processes : {false, true}) {
      const SeccompPlan plan{.on = true, .base = row.base, .listener = true, .processes = processes, .execute = row.execute};
      const auto fresh = compile_by_libseccomp(plan, kSupervisor);
      ASSERT_TRUE(fresh);
      EXPECT_TRUE(same(row.guard, fresh->guard));
      EXPECT_TRUE(same(row.allow_list, fresh->allow_list));
    }
  }
}

TEST(SeccompProgram, NotifiesWhatIsInNoGroup) {
  for (const SeccompPlan& plan : {python_plan(), exec_plan()}) {
    const Filters filters(plan);
    for (const int number : {SYS_ptrace,
                             SYS_process_vm_readv,
                             SYS_process_vm_writev,
                             SYS_kcmp,
                             SYS_keyctl,
                             SYS_add_key,
                             SYS_request_key,
                             SYS_bpf,
                             SYS_perf_event_open,
                             SYS_userfaultfd,
                             SYS_io_uring_setup,
                             SYS_io_uring_enter,
                             SYS_io_uring_register,
                             SYS_mount,
                             SYS_umount2,
                             SYS_unshare,
                             SYS_setns,
                             SYS_pivot_root,
                             SYS_chroot,
                             SYS_quotactl,
                             SYS_reboot,
                             SYS_kexec_load,
                             SYS_init_module,
                             SYS_finit_module,
                             SYS_delete_module,
                             SYS_shmget,
                             SYS_shmat,
                             SYS_msgget,
                             SYS_semget,
                             SYS_mq_open,
                             SYS_seccomp,
                             SYS_pidfd_send_signal,
                             SYS_pidfd_getfd,
                             SYS_pidfd_open,
                             SYS_open_by_handle_at,
                             SYS_fanotify_init,
                             SYS_syslog,
                             SYS_iopl,
                             SYS_ioperm,
                             SYS_modify_ldt,
                             SYS_process_madvise,
                             SYS_migrate_pages,
                             SYS_move_pages,
                             SYS_get_robust_list,
                             SYS_setgroups,
                             SYS_sethostname,
                             SYS_settimeofday,
                             SYS_mount_setattr,
                             SYS_open_tree,
                             SYS_fsopen,
                             SYS_clone,
                             SYS_fork,
                             SYS_vfork,
                             463,
                             467}) {
      const bool task = number == SYS_clone || number == SYS_fork || number == SYS_vfork;
      EXPECT_EQ(filters(number), task && !plan.count_tasks ? kAllow : kNotify) << syscall_name(number);
      EXPECT_EQ(filters.fallback(number), task ? (plan.processes ? kAllow : kEperm) : kEperm) << syscall_name(number);
    }
  }
}

// Refused, by the errno that leads their callers to a fallback.
TEST(SeccompProgram, AnswersWhatProgramsTryFirst) {
  const auto answer = [](int err) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(err); };
  for (SeccompPlan plan : {python_plan(), exec_plan()}) {
    const Filters filters(plan);
    for (const AnsweredCall& row : answered_calls()) {
      const int number = syscall_number(row.name);
      ASSERT_GE(number, 0) << row.name;
      EXPECT_FALSE(std::string(row.why).empty());
      Args args{};
      if (row.index >= 0) args[static_cast<unsigned>(row.index)] = 0x7777;
      if (number == SYS_renameat2) args[4] = RENAME_WHITEOUT;
      EXPECT_EQ(filters(number, args), answer(row.err)) << row.name;
      EXPECT_EQ(filters.fallback(number, args), answer(row.err)) << row.name;
      for (const std::uint64_t asked : row.asked) {
        for (const std::uint64_t value : {asked, asked | kHigh}) {
          args[static_cast<unsigned>(row.index)] = value;
          EXPECT_EQ(filters(number, args), kNotify) << row.name << " " << value;
          EXPECT_EQ(filters.fallback(number, args), kEperm) << row.name << " " << value;
        }
      }
    }
    plan.deny = {"setxattr", "ioctl"};
    const Filters denied(plan);
    EXPECT_EQ(denied(SYS_setxattr), kNotify);
    EXPECT_EQ(denied(SYS_ioctl, {0, 0x7777}), kNotify);
    plan.deny = {};
    plan.allow = {"setxattr"};
    EXPECT_EQ(Filters(plan)(SYS_setxattr), kAllow);
  }
}

TEST(SeccompProgram, UnknownNumbersAreNotImplemented) {
  const Filters filters(python_plan());
  for (const int number : {337, 400, 423, 471, 500, 0x3fffffff}) {
    EXPECT_EQ(filters(number), kNotify) << number;  // the supervisor answers ENOSYS
    EXPECT_EQ(filters.fallback(number), kEnosys) << number;
  }
  EXPECT_EQ(filters.fallback(336), kEperm);
  EXPECT_EQ(filters.fallback(424), kEperm);
  EXPECT_EQ(filters.fallback(470), kEperm);
}

TEST(SeccompProgram, KillsForeignAbis) {
  for (const SeccompPlan& plan : {python_plan(), exec_plan()}) {
    const Filters filters(plan);
    constexpr int kX32 = 0x40000000;
    for (const int number : {SYS_read, SYS_write, SYS_getpid, SYS_execve, SYS_kill, 512, 547}) {
      EXPECT_EQ(filters(number | kX32), kKill) << number;
      EXPECT_EQ(filters(number, {}, AUDIT_ARCH_I386), kKill) << number;
      EXPECT_EQ(filters(number, {}, AUDIT_ARCH_AARCH64), kKill) << number;
      EXPECT_EQ(evaluate(filters.program().guard, call(number | kX32)), kKill) << number;  // each filter alone
      EXPECT_EQ(evaluate(filters.program().guard, call(number, {}, AUDIT_ARCH_I386)), kKill) << number;
    }
  }
}

TEST(SeccompProgram, Clone3IsNeverThere) {
  SeccompPlan plan = exec_plan();
  plan.allow = {"clone3"};
  EXPECT_EQ(Filters(python_plan())(SYS_clone3), kEnosys);
  EXPECT_EQ(Filters(plan)(SYS_clone3), kEnosys);
  EXPECT_EQ(Filters(plan).fallback(SYS_clone3), kEnosys);
}

// Under `python` every process and thread is the supervisor's to count; under `exec`, and without a listener, threads pass, processes as
// planned. Forbidden flags never do.
TEST(SeccompProgram, ClonesAreCountedOrPlanned) {
  constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS;
  SeccompPlan opened = python_plan();
  opened.allow = {"clone"};
  for (const SeccompPlan& plan : {python_plan(), exec_plan(), opened}) {
    const Filters filters(plan);
    const bool processes = plan.processes || !plan.allow.empty();
    EXPECT_EQ(filters(SYS_clone, {kThread}), plan.count_tasks ? kNotify : kAllow);
    for (const int number : {SYS_clone, SYS_fork, SYS_vfork})
      EXPECT_EQ(filters(number, {SIGCHLD}), plan.count_tasks ? kNotify : kAllow) << number;
    EXPECT_EQ(filters.fallback(SYS_clone, {kThread}), kAllow);
    EXPECT_EQ(filters.fallback(SYS_clone, {SIGCHLD}), processes ? kAllow : kEperm);
    for (unsigned bit = 0; bit < 32; ++bit) {
      const std::uint64_t flag = 1ULL << bit;
      if ((flag & kForbiddenCloneFlags) == 0) continue;
      for (const std::uint64_t flags : {flag, flag | SIGCHLD, flag | kThread, flag | kHigh}) {
        EXPECT_EQ(filters(SYS_clone, {flags}), kNotify) << flags;
        EXPECT_EQ(filters.fallback(SYS_clone, {flags}), kEperm) << flags;
      }
    }
  }
  SeccompPlan denied = exec_plan();
  denied.deny = {"clone", "fork"};
  const Filters filters(denied);
  EXPECT_EQ(filters.fallback(SYS_clone, {kThread}), kEperm);
  EXPECT_EQ(filters.fallback(SYS_fork), kEperm);
  EXPECT_EQ(filters.fallback(SYS_vfork), kAllow);
}

struct SelfGuard {
  int number;
  unsigned index;  // of the PID
  Args rest;       // the other arguments
};

const SelfGuard kSelfGuards[] = {
    {SYS_kill, 0, {}},
    {SYS_tkill, 0, {}},
    {SYS_tgkill, 0, {}},
    {SYS_rt_sigqueueinfo, 0, {}},
    {SYS_rt_tgsigqueueinfo, 0, {}},
    {SYS_prlimit64, 0, {}},
    {SYS_sched_setaffinity, 0, {}},
    {SYS_sched_setattr, 0, {}},
    {SYS_sched_setparam, 0, {}},
    {SYS_sched_setscheduler, 0, {}},
    {SYS_setpriority, 1, {PRIO_PROCESS}},
    {SYS_ioprio_set, 1, {1}},
};

Args with(Args args, unsigned index, std::uint64_t value) {
  args[index] = value;
  return args;
}

// The kernel takes the low 32 bits of a PID: the filter has to, too.
TEST(SeccompProgram, LetsOnlyItselfBeATarget) {
  const Filters filters(python_plan());
  for (const auto& [number, index, rest] : kSelfGuards) {
    for (const std::uint64_t self : {0ULL, static_cast<unsigned long long>(kOwnPid)}) {
      EXPECT_EQ(filters(number, with(rest, index, self)), kAllow) << syscall_name(number);
      EXPECT_EQ(filters(number, with(rest, index, self | kHigh)), kAllow) << syscall_name(number);
    }
    for (const std::int64_t other :
         {std::int64_t{kSupervisor}, std::int64_t{1}, std::int64_t{-1}, -std::int64_t{kSupervisor}, -std::int64_t{kOwnPid}}) {
      for (const std::uint64_t value : {negative(other), negative(other) | kHigh, negative(other) & 0xffffffffU}) {
        EXPECT_EQ(filters(number, with(rest, index, value)), kNotify) << syscall_name(number) << " " << other;
        EXPECT_EQ(filters.fallback(number, with(rest, index, value)), kEperm) << syscall_name(number) << " " << other;
      }
    }
  }
  for (const std::uint64_t which : {PRIO_PGRP, PRIO_USER}) {
    EXPECT_EQ(filters(SYS_setpriority, {which, 0}), kNotify);
    EXPECT_EQ(filters(SYS_ioprio_set, {which + 1, 0}), kNotify);
  }
}

// What the policy opens stays closed for the supervisor, everyone and groups.
TEST(SeccompProgram, GuardsTheSupervisorInOpenedCalls) {
  SeccompPlan plan = python_plan();
  for (const RestrictedCall& restricted : restricted_calls()) plan.allow.emplace_back(restricted.name);
  const Filters filters(plan);
  for (const auto& [number, index, rest] : kSelfGuards) {
    for (const std::uint64_t value : {std::uint64_t{kSupervisor}, kSupervisor | kHigh, kSupervisor | (0x7fffffffUL << 32)}) {
      EXPECT_EQ(filters(number, with(rest, index, value)), kEperm) << syscall_name(number);
      EXPECT_EQ(filters.fallback(number, with(rest, index, value)), kEperm) << syscall_name(number);
    }
    EXPECT_EQ(filters(number, with(rest, index, 77)), kAllow) << syscall_name(number);
  }
  for (const std::uint64_t value :
       {negative(-1), negative(-1) & 0xffffffffU, negative(-kSupervisor), negative(-kSupervisor) & 0xffffffffU}) {
    EXPECT_EQ(filters(SYS_kill, {value, 9}), kEperm);
  }
  EXPECT_EQ(filters(SYS_setpriority, {PRIO_PGRP, 0}), kEperm);
  EXPECT_EQ(filters(SYS_setpriority, {PRIO_USER | kHigh, 0}), kEperm);
  EXPECT_EQ(filters(SYS_ptrace, {16, kSupervisor | kHigh}), kEperm);
  EXPECT_EQ(filters(SYS_process_vm_writev, {kSupervisor}), kEperm);
  EXPECT_EQ(filters(SYS_pidfd_open, {kSupervisor}), kEperm);
  for (const std::uint64_t request :
       {std::uint64_t{TIOCSTI}, std::uint64_t{TIOCLINUX}, std::uint64_t{FIOSETOWN}, std::uint64_t{SIOCSPGRP}}) {
    EXPECT_EQ(filters(SYS_ioctl, {0, request}), kEperm);
    EXPECT_EQ(filters(SYS_ioctl, {0, request | kHigh}), kEperm);
  }
  for (const std::uint64_t command : {F_SETOWN, F_SETOWN_EX, F_SETSIG}) {
    EXPECT_EQ(filters(SYS_fcntl, {0, command}), kEperm);
    EXPECT_EQ(filters(SYS_fcntl, {0, command | kHigh}), kEperm);
  }
  EXPECT_EQ(filters(SYS_prctl, {PR_SET_PDEATHSIG | kHigh}), kEperm);
  EXPECT_EQ(filters(SYS_sendto, {3, 0, 0, MSG_FASTOPEN | MSG_NOSIGNAL}), kEperm);
  EXPECT_EQ(filters(SYS_ioctl, {0, 0x1234}), kAllow);
}

// An errno from the guard would hide the call from the supervisor's record.
TEST(SeccompProgram, TheGuardHidesNothingThatIsNotified) {
  const Filters filters(python_plan());
  for (const RestrictedCall& restricted : restricted_calls()) {
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{kSupervisor}, ~std::uint64_t{0}}) {
      EXPECT_EQ(evaluate(filters.program().guard, call(syscall_number(restricted.name), {value, value, value, value, value, value})),
                kAllow)
          << restricted.name;
    }
  }
}

TEST(SeccompProgram, PolicyAppends) {
  SeccompPlan plan = python_plan();
  plan.allow = {"io_uring_setup", "kill"};
  plan.deny = {"mlock", "ioctl", "io_uring_setup"};
  const Filters filters(plan);
  EXPECT_EQ(filters(SYS_io_uring_setup), kNotify);  // deny wins
  EXPECT_EQ(filters(SYS_mlock), kNotify);
  EXPECT_EQ(filters(SYS_ioctl, {0, TCGETS}), kNotify);
  EXPECT_EQ(filters(SYS_kill, {77, 9}), kAllow);
  EXPECT_EQ(filters(SYS_read), kAllow);
}

TEST(SeccompProgram, NamesAnUnknownCall) {
  SeccompPlan plan = python_plan();
  plan.allow = {"io_uring_setpu"};
  const auto program = compile_seccomp(plan, kSupervisor);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().subject, "io_uring_setpu");
  EXPECT_THAT(program.error().message(), HasSubstr("did you mean io_uring_setup?"));
  plan.allow = {"socketcall"};  // i386 has it, x86_64 doesn't
  EXPECT_FALSE(compile_seccomp(plan, kSupervisor));
}

TEST(SeccompProgram, Sockets) {
  const Filters closed(python_plan());
  SeccompPlan plan = python_plan();
  plan.tcp = true;
  const Filters open(plan);
  constexpr std::uint64_t kStream = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  for (const std::uint64_t family : {AF_INET, AF_INET6}) {
    EXPECT_EQ(closed(SYS_socket, {family, SOCK_STREAM, 0}), kNotify);
    EXPECT_EQ(open(SYS_socket, {family, SOCK_STREAM, 0}), kAllow);
    EXPECT_EQ(open(SYS_socket, {family, kStream, IPPROTO_TCP}), kAllow);
    EXPECT_EQ(open(SYS_socket, {family, kStream, IPPROTO_MPTCP}), kNotify);
    EXPECT_EQ(open(SYS_socket, {family, SOCK_DGRAM, 0}), kNotify);
    EXPECT_EQ(open(SYS_socket, {family, SOCK_RAW, IPPROTO_TCP}), kNotify);
  }
  for (std::uint64_t family = 0; family < 64; ++family) {
    if (family == AF_INET || family == AF_INET6) continue;
    EXPECT_EQ(open(SYS_socket, {family, SOCK_STREAM, 0}), kNotify) << family;
    EXPECT_EQ(open(SYS_socket, {family | kHigh, SOCK_STREAM, 0}), kNotify) << family;
  }
  EXPECT_EQ(open(SYS_connect), kAllow);
  EXPECT_EQ(closed(SYS_connect), kNotify);
  EXPECT_EQ(open(SYS_listen), kNotify);
  plan.tcp_listen = true;
  EXPECT_EQ(Filters(plan)(SYS_listen), kAllow);
  EXPECT_EQ(closed(SYS_socketpair, {AF_UNIX, kStream}), kAllow);
  EXPECT_EQ(closed(SYS_socketpair, {AF_UNIX, SOCK_DGRAM}), kNotify);
  EXPECT_EQ(closed(SYS_socketpair, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC}), kAllow);
  for (const std::uint64_t type : {SOCK_RAW, SOCK_PACKET, SOCK_RDM}) EXPECT_EQ(closed(SYS_socketpair, {AF_UNIX, type}), kNotify) << type;
  EXPECT_EQ(closed(SYS_sendto, {3, 0, 0, MSG_NOSIGNAL}), kAllow);
  EXPECT_EQ(closed(SYS_sendto, {3, 0, 0, MSG_FASTOPEN}), kNotify);
  EXPECT_EQ(closed(SYS_sendmsg, {3, 0, MSG_FASTOPEN | kHigh}), kNotify);
  EXPECT_EQ(closed(SYS_setsockopt, {3, SOL_SOCKET, SO_SNDBUF}), kAllow);
  EXPECT_EQ(closed(SYS_setsockopt, {3, SOL_SOCKET, SO_ATTACH_FILTER}), kNotify);
}

// Only where Landlock keeps them within the run (ABI 9).
TEST(SeccompProgram, UnixSockets) {
  SeccompPlan plan = exec_plan();
  EXPECT_EQ(Filters(plan)(SYS_socket, {AF_UNIX, SOCK_STREAM}), kNotify);
  plan.unix_sockets = true;
  const Filters filters(plan);
  for (const std::uint64_t type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
    EXPECT_EQ(filters(SYS_socket, {AF_UNIX, type | SOCK_CLOEXEC}), kAllow) << type;
    EXPECT_EQ(filters(SYS_socketpair, {AF_UNIX, type}), kAllow) << type;
  }
  for (const int number : {SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4}) EXPECT_EQ(filters(number), kAllow) << number;
  for (const std::uint64_t family : {AF_INET, AF_INET6, AF_NETLINK, AF_VSOCK}) {
    EXPECT_EQ(filters(SYS_socket, {family, SOCK_STREAM}), kNotify) << family;
  }
  EXPECT_EQ(filters(SYS_socket, {AF_UNIX, SOCK_RAW}), kNotify);
}

TEST(SeccompProgram, Subcommands) {
  const Filters filters(python_plan()), wide(exec_plan());
  for (const std::uint64_t request : {TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX}) {
    EXPECT_EQ(filters(SYS_ioctl, {0, request}), kAllow) << request;
  }
  for (const std::uint64_t request : {TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP, TIOCSETD, FIOASYNC}) {
    EXPECT_EQ(filters(SYS_ioctl, {0, request}), kNotify) << request;
    EXPECT_EQ(wide(SYS_ioctl, {0, request | kHigh}), kNotify) << request;
  }
  EXPECT_EQ(filters(SYS_ioctl, {0, TIOCSWINSZ}), SECCOMP_RET_ERRNO | ENOTTY);
  for (const std::uint64_t request : {TIOCSWINSZ, TIOCPKT, TIOCSCTTY, TCXONC}) EXPECT_EQ(wide(SYS_ioctl, {0, request}), kAllow) << request;
  EXPECT_EQ(wide(SYS_ioctl, {0, TIOCGPTPEER}), kNotify);  // the supervisor opens it
  for (const std::uint64_t flags : {0, RENAME_NOREPLACE, RENAME_EXCHANGE})
    EXPECT_EQ(filters(SYS_renameat2, {0, 0, 0, 0, flags}), kAllow) << flags;
  for (const std::uint64_t flags : {RENAME_WHITEOUT, RENAME_WHITEOUT | RENAME_NOREPLACE}) {
    EXPECT_EQ(filters(SYS_renameat2, {0, 0, 0, 0, flags | kHigh}), SECCOMP_RET_ERRNO | EINVAL) << flags;
  }
  EXPECT_EQ(filters(SYS_fcntl, {0, F_DUPFD_CLOEXEC}), kAllow);
  for (const std::uint64_t command : {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETLEASE, F_NOTIFY}) {
    EXPECT_EQ(filters(SYS_fcntl, {0, command}), kNotify) << command;
    EXPECT_EQ(filters(SYS_fcntl, {0, command | kHigh}), kNotify) << command;
  }
  EXPECT_EQ(filters(SYS_prctl, {PR_SET_NAME}), kAllow);
  for (const std::uint64_t option :
       {PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_MM, PR_SET_CHILD_SUBREAPER, PR_CAP_AMBIENT}) {
    EXPECT_EQ(filters(SYS_prctl, {option}), kNotify) << option;
  }
  EXPECT_EQ(filters(SYS_personality, {0xffffffff}), kAllow);
  EXPECT_EQ(filters(SYS_personality, {0x0400000}), kNotify);  // READ_IMPLIES_EXEC
  EXPECT_EQ(filters(SYS_mknodat, {0, 0, S_IFIFO | 0600}), kAllow);
  EXPECT_EQ(filters(SYS_mknodat, {0, 0, 0600}), kAllow);
  for (const std::uint64_t type : {S_IFCHR, S_IFBLK, S_IFSOCK}) EXPECT_EQ(filters(SYS_mknodat, {0, 0, type | 0600}), kNotify) << type;
  EXPECT_EQ(filters(SYS_execve), kNotify);
  EXPECT_EQ(wide(SYS_execve), kAllow);
  EXPECT_EQ(filters(SYS_memfd_create), kNotify);
  EXPECT_EQ(wide(SYS_memfd_create), kAllow);
}

TEST(SeccompProgram, WithoutAListenerThereIsNoNotification) {
  SeccompPlan plan = python_plan();
  plan.listener = false;
  const Filters filters(plan);
  EXPECT_TRUE(filters.program().fallback.empty());
  for (int number = 0; number < 600; ++number) {
    const std::uint32_t action = filters(number, {~0ULL, ~0ULL, ~0ULL, ~0ULL});
    const bool answered = std::ranges::any_of(answered_calls(), [&](const AnsweredCall& row) {
      return syscall_number(row.name) == number && action == (SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(row.err));
    });
    EXPECT_TRUE(action == kAllow || action == kEperm || action == kEnosys || answered) << number << ": " << action;
  }
}

TEST(SyscallGroups, AreSortedAndNameEachCallOnce) {
  std::set<std::string> seen;
  std::string_view last;
  for (const SyscallGroup& group : syscall_groups()) {
    EXPECT_LT(last, group.name);
    EXPECT_FALSE(group.why.empty());
    last = group.name;
    std::string_view last_member;
    for (const char* name : group.members) {
      EXPECT_LT(last_member, name);
      last_member = name;
      EXPECT_TRUE(seen.insert(name).second) << name;
    }
  }
  last = {};
  for (const RestrictedCall& restricted : restricted_calls()) {
    EXPECT_LT(last, restricted.name);
    last = restricted.name;
    EXPECT_TRUE(seen.insert(restricted.name).second) << restricted.name;
    EXPECT_GE(syscall_number(restricted.name), 0) << restricted.name;
  }
}

TEST(SyscallGroups, NamesAndNumbersAgree) {
  for (int number = 0; number <= static_cast<int>(kLastKnown); ++number) {
    const std::string name(syscall_name(number));
    const bool in_hole = number >= static_cast<int>(kFirstHole) && number <= static_cast<int>(kLastHole);
    EXPECT_EQ(name.empty(), in_hole) << number;
    if (!name.empty()) {
      EXPECT_EQ(syscall_number(name), number) << name;
    }
  }
  EXPECT_EQ(syscall_number("mseal"), 462);
  EXPECT_EQ(syscall_name(-1), "");
  EXPECT_EQ(syscall_name(1 << 30), "");
  EXPECT_EQ(nearest_syscall("mseall"), "mseal");
  EXPECT_EQ(nearest_syscall("xyzzyxyzzy"), "");
}

}  // namespace
}  // namespace podjail
