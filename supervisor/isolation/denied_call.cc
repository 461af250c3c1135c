#include "isolation/denied_call.h"

#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/prctl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "isolation/syscall_groups.h"
#include "wire/runner_request.h"

namespace podjail {
namespace {

struct Named {
  std::uint32_t value;
  const char* name;
};

constexpr Named kFamilies[] = {{AF_UNIX, "AF_UNIX"},     {AF_INET, "AF_INET"}, {AF_INET6, "AF_INET6"}, {AF_NETLINK, "AF_NETLINK"},
                               {AF_PACKET, "AF_PACKET"}, {AF_ALG, "AF_ALG"},   {AF_VSOCK, "AF_VSOCK"}, {AF_BLUETOOTH, "AF_BLUETOOTH"},
                               {AF_CAN, "AF_CAN"},       {AF_XDP, "AF_XDP"},   {AF_TIPC, "AF_TIPC"},   {AF_KEY, "AF_KEY"}};
constexpr Named kSocketTypes[] = {{SOCK_STREAM, "SOCK_STREAM"},       {SOCK_DGRAM, "SOCK_DGRAM"},   {SOCK_RAW, "SOCK_RAW"},
                                  {SOCK_SEQPACKET, "SOCK_SEQPACKET"}, {SOCK_PACKET, "SOCK_PACKET"}, {SOCK_RDM, "SOCK_RDM"}};
constexpr Named kCloneFlags[] = {{CLONE_NEWNS, "CLONE_NEWNS"},      {CLONE_NEWCGROUP, "CLONE_NEWCGROUP"}, {CLONE_NEWUTS, "CLONE_NEWUTS"},
                                 {CLONE_NEWIPC, "CLONE_NEWIPC"},    {CLONE_NEWUSER, "CLONE_NEWUSER"},     {CLONE_NEWPID, "CLONE_NEWPID"},
                                 {CLONE_NEWNET, "CLONE_NEWNET"},    {CLONE_PARENT, "CLONE_PARENT"},       {CLONE_PTRACE, "CLONE_PTRACE"},
                                 {CLONE_UNTRACED, "CLONE_UNTRACED"}};
constexpr Named kIoctls[] = {{TIOCSTI, "TIOCSTI"},   {TIOCLINUX, "TIOCLINUX"},   {FIOSETOWN, "FIOSETOWN"},    {SIOCSPGRP, "SIOCSPGRP"},
                             {FIOASYNC, "FIOASYNC"}, {TIOCSCTTY, "TIOCSCTTY"},   {TIOCSPGRP, "TIOCSPGRP"},    {TCSETS, "TCSETS"},
                             {TCSETSW, "TCSETSW"},   {TIOCSWINSZ, "TIOCSWINSZ"}, {TIOCGPTPEER, "TIOCGPTPEER"}};
constexpr Named kFcntls[] = {
    {F_SETOWN, "F_SETOWN"}, {F_SETOWN_EX, "F_SETOWN_EX"}, {F_SETSIG, "F_SETSIG"}, {F_SETLEASE, "F_SETLEASE"}, {F_NOTIFY, "F_NOTIFY"}};
constexpr Named kPrctls[] = {{PR_SET_PDEATHSIG, "PR_SET_PDEATHSIG"},   {PR_SET_DUMPABLE, "PR_SET_DUMPABLE"},
                             {PR_SET_SECCOMP, "PR_SET_SECCOMP"},       {PR_SET_MM, "PR_SET_MM"},
                             {PR_SET_PTRACER, "PR_SET_PTRACER"},       {PR_SET_CHILD_SUBREAPER, "PR_SET_CHILD_SUBREAPER"},
                             {PR_CAP_AMBIENT, "PR_CAP_AMBIENT"},       {PR_SET_KEEPCAPS, "PR_SET_KEEPCAPS"},
                             {PR_SET_SECUREBITS, "PR_SET_SECUREBITS"}, {PR_SET_SYSCALL_USER_DISPATCH, "PR_SET_SYSCALL_USER_DISPATCH"}};
constexpr Named kLimits[] = {{RLIMIT_CPU, "RLIMIT_CPU"},     {RLIMIT_FSIZE, "RLIMIT_FSIZE"},   {RLIMIT_DATA, "RLIMIT_DATA"},
                             {RLIMIT_STACK, "RLIMIT_STACK"}, {RLIMIT_CORE, "RLIMIT_CORE"},     {RLIMIT_RSS, "RLIMIT_RSS"},
                             {RLIMIT_NPROC, "RLIMIT_NPROC"}, {RLIMIT_NOFILE, "RLIMIT_NOFILE"}, {RLIMIT_MEMLOCK, "RLIMIT_MEMLOCK"},
                             {RLIMIT_AS, "RLIMIT_AS"},       {RLIMIT_NICE, "RLIMIT_NICE"},     {RLIMIT_RTPRIO, "RLIMIT_RTPRIO"}};

std::string name_of(std::span<const Named> names, std::uint32_t value) {
  const auto found = std::ranges::find(names, value, &Named::value);
  return found != names.end() ? std::string(found->name) : std::to_string(value);
}

std::string flag_names(std::span<const Named> names, std::uint32_t value) {
  std::string text;
  for (const Named& flag : names) {
    if ((value & flag.value) != 0) text += (text.empty() ? "" : "|") + std::string(flag.name);
  }
  return text;
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(number);
}

constexpr std::uint32_t low(const seccomp_data& call, unsigned index) {
  return static_cast<std::uint32_t>(call.args[index]);
}
constexpr int as_int(const seccomp_data& call, unsigned index) {
  return static_cast<int>(low(call, index));
}

bool names_call(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

CallDecision denied(std::string_view what, std::string detail, int err = EPERM) {
  return {.kind = CallDecision::Kind::deny, .err = err, .what = std::string(what), .detail = std::move(detail)};
}

// `pid` decides where it is one process or thread; 0 and below reach more than the tree.
CallDecision by_target(std::string_view what, pid_t pid, std::string detail) {
  CallDecision decision = denied(what, std::move(detail));
  if (pid > 0) {
    decision.kind = CallDecision::Kind::target;
    decision.target = pid;
  }
  return decision;
}

CallDecision decide_kill(std::string_view what, const seccomp_data& call, unsigned signal_index) {
  const int pid = as_int(call, 0);
  const std::string signal = signal_name(as_int(call, signal_index));
  if (pid == -1) return denied(what, "every process, " + signal);
  // A process group lies within one session, and the tree's sessions hold nobody else: one member stands for it.
  if (pid < -1 && pid != INT32_MIN && call.nr == SYS_kill) {
    CallDecision decision = by_target(what, -pid, "process group " + std::to_string(-pid) + ", " + signal);
    decision.group = true;
    return decision;
  }
  return by_target(what, pid, "pid " + std::to_string(pid) + ", " + signal);
}

CallDecision decide_priority(std::string_view what, const seccomp_data& call, std::uint32_t one_process) {
  const int who = as_int(call, 1);
  if (low(call, 0) == one_process) return by_target(what, who, "pid " + std::to_string(who));
  return denied(what, low(call, 0) == one_process + 1 ? "a process group" : "a user");  // *_PGRP, *_USER follow in both
}

CallDecision decide_new_task(std::string_view what, const seccomp_data& call, const SeccompPlan& plan) {
  using Kind = CallDecision::Kind;
  const std::uint32_t flags = call.nr == SYS_clone ? low(call, 0) : 0;
  if ((flags & kForbiddenCloneFlags) != 0) return denied(what, flag_names(kCloneFlags, flags));
  CallDecision decision = denied(what, "");
  if ((flags & CLONE_THREAD) != 0) {
    decision.kind = Kind::new_thread;
    decision.err = EAGAIN;
  } else if (plan.processes || names_call(plan.allow, what)) {
    decision.kind = Kind::new_process;
    decision.err = EAGAIN;
  }
  return decision;
}

// Two options are what a process of the run asks podjail for.
CallDecision decide_prctl(std::string_view what, const seccomp_data& call) {
  CallDecision decision = denied(what, name_of(kPrctls, low(call, 0)));
  if (low(call, 0) == wire::kOpenProcFile && low(call, 1) < wire::kProcFiles.size() && as_int(call, 2) >= 0 && as_int(call, 3) >= 0) {
    decision.kind = CallDecision::Kind::proc_file;
    decision.target = as_int(call, 2);
    decision.thread = as_int(call, 3);
    decision.cloexec = low(call, 4) != 0;
  } else if (low(call, 0) == wire::kClaimSharedMemory && as_int(call, 1) >= 0) {
    decision.kind = CallDecision::Kind::claim;
  } else {
    return decision;
  }
  decision.file = low(call, 1);
  return decision;
}

// ioctl_tty(2): the third argument has open(2)'s flags.
CallDecision decide_ioctl(std::string_view what, const seccomp_data& call, const SeccompPlan& plan) {
  CallDecision decision = denied(what, name_of(kIoctls, low(call, 1)));
  if (low(call, 1) == TIOCGPTPEER) {
    decision.err = ENOTTY;
    if (plan.base == Policy::SyscallBase::exec && as_int(call, 0) >= 0) {
      decision.kind = CallDecision::Kind::terminal;
      decision.file = low(call, 0);
      decision.cloexec = (low(call, 2) & O_CLOEXEC) != 0;
      decision.nonblock = (low(call, 2) & O_NONBLOCK) != 0;
    }
  }
  return decision;
}

std::string socket_detail(const seccomp_data& call) {
  constexpr std::uint32_t kTypeMask = 0xf;
  std::string text = name_of(kFamilies, low(call, 0)) + ", " + name_of(kSocketTypes, low(call, 1) & kTypeMask);
  if (low(call, 2) != 0) text += ", protocol " + std::to_string(low(call, 2));
  return text;
}

}  // namespace

CallDecision decide_call(const seccomp_data& call, const SeccompPlan& plan) {
  const std::string_view name = syscall_name(call.nr);
  if (name.empty()) return denied("syscall_" + std::to_string(call.nr), "", ENOSYS);
  if (names_call(plan.deny, name)) return denied(name, "");
  switch (call.nr) {
    case SYS_clone:
    case SYS_fork:
    case SYS_vfork:
      return decide_new_task(name, call, plan);
    case SYS_clone3:
      return denied(name, "", ENOSYS);
    case SYS_kill:
    case SYS_tkill:
    case SYS_rt_sigqueueinfo:
      return decide_kill(name, call, 1);
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo:
      return decide_kill(name, call, 2);
    case SYS_setpriority:
      return decide_priority(name, call, PRIO_PROCESS);
    case SYS_ioprio_set:
      return decide_priority(name, call, IOPRIO_WHO_PROCESS);
    case SYS_sched_setaffinity:
    case SYS_sched_setattr:
    case SYS_sched_setparam:
    case SYS_sched_setscheduler:
      return by_target(name, as_int(call, 0), "pid " + std::to_string(as_int(call, 0)));
    case SYS_prlimit64:
      return by_target(name, as_int(call, 0), "pid " + std::to_string(as_int(call, 0)) + ", " + name_of(kLimits, low(call, 1)));
    case SYS_pidfd_open: {
      const std::string detail = "pid " + std::to_string(as_int(call, 0));
      return plan.base == Policy::SyscallBase::exec ? by_target(name, as_int(call, 0), detail) : denied(name, detail);
    }
    case SYS_ptrace:
      return denied(name, "pid " + std::to_string(as_int(call, 1)));
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
      return denied(name, "pid " + std::to_string(as_int(call, 0)));
    case SYS_socket:
    case SYS_socketpair:
      return denied(name, socket_detail(call));
    case SYS_ioctl:
      return decide_ioctl(name, call, plan);
    case SYS_fcntl:
      return denied(name, name_of(kFcntls, low(call, 1)));
    case SYS_prctl:
      return decide_prctl(name, call);
    default:
      return denied(name, "");
  }
}

}  // namespace podjail
