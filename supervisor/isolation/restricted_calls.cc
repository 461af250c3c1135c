#include <fcntl.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <linux/prctl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <initializer_list>

#include "isolation/seccomp_program.h"
#include "isolation/syscall_groups.h"

// Each function says in its comment what remains possible.
namespace podjail {

const std::uint32_t kForbiddenCloneFlags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                                           CLONE_NEWNET | CLONE_PARENT | CLONE_PTRACE | CLONE_UNTRACED;

namespace {

using Rules = std::vector<CallRule>;
constexpr std::uint32_t kAll = 0xffffffffU;

ArgMatch equals(unsigned index, std::uint32_t value) {
  return {index, kAll, value};
}

// One rule for each value of one argument.
Rules any_of(unsigned index, std::initializer_list<std::uint32_t> values) {
  Rules rules;
  for (const std::uint32_t value : values) rules.push_back({equals(index, value)});
  return rules;
}

Rules always() {
  return {CallRule{}};
}
Rules never(const SeccompPlan&) {
  return {};
}

Rules opened(bool open) {
  return open ? always() : Rules{};
}

// The first argument is a PID or TID: 0 (itself; for kill its own process group, which is its own session's) or its own PID. Any other is
// asked of the supervisor, which lets it pass within the tree.
Rules allow_first_self(const SeccompPlan&) {
  return any_of(0, {0, kOwnPid});
}
Rules guard_first(pid_t supervisor) {
  return any_of(0, {static_cast<std::uint32_t>(supervisor)});
}

// As allow_first_self. Guarded where the policy opens it: the supervisor, its process group, and -1 (everything of this UID).
Rules guard_kill(pid_t supervisor) {
  Rules rules = any_of(0, {static_cast<std::uint32_t>(supervisor), static_cast<std::uint32_t>(-supervisor), kAll});
  const pid_t group = ::getpgid(supervisor);
  if (group > 0 && group != supervisor) rules.push_back({equals(0, static_cast<std::uint32_t>(-group))});
  return rules;
}

// PRIO_PROCESS of itself. Never PRIO_PGRP and PRIO_USER, which reach others of the same UID.
Rules allow_setpriority_self(const SeccompPlan&) {
  return {{equals(0, PRIO_PROCESS), equals(1, 0)}, {equals(0, PRIO_PROCESS), equals(1, kOwnPid)}};
}
Rules guard_setpriority(pid_t supervisor) {
  return {{equals(0, PRIO_PROCESS), equals(1, static_cast<std::uint32_t>(supervisor))}, {equals(0, PRIO_PGRP)}, {equals(0, PRIO_USER)}};
}

// IOPRIO_WHO_PROCESS of itself, as setpriority.
Rules allow_ioprio_self(const SeccompPlan&) {
  return {{equals(0, IOPRIO_WHO_PROCESS), equals(1, 0)}, {equals(0, IOPRIO_WHO_PROCESS), equals(1, kOwnPid)}};
}
Rules guard_ioprio(pid_t supervisor) {
  return {{equals(0, IOPRIO_WHO_PROCESS), equals(1, static_cast<std::uint32_t>(supervisor))},
          {equals(0, IOPRIO_WHO_PGRP)},
          {equals(0, IOPRIO_WHO_USER)}};
}

// ptrace(2): nothing; opened by the policy, anything but the supervisor.
Rules guard_ptrace(pid_t supervisor) {
  return any_of(1, {static_cast<std::uint32_t>(supervisor)});
}

// pidfd_open: nothing outright; under `exec` the supervisor lets it pass within the tree (a pidfd to poll; pidfd_send_signal and
// pidfd_getfd stay denied).

// fcntl: duplicating, flags, locks, pipe sizes, seals. Not F_SETOWN, F_SETOWN_EX and F_SETSIG, with which the *kernel* sends any signal to
// any process of the UID, nor leases and F_NOTIFY, which delay or signal others.
Rules allow_fcntl(const SeccompPlan&) {
  return any_of(1, {F_DUPFD,
                    F_GETFD,
                    F_SETFD,
                    F_GETFL,
                    F_SETFL,
                    F_GETLK,
                    F_SETLK,
                    F_SETLKW,
                    F_GETOWN,
                    F_GETSIG,
                    F_GETOWN_EX,
                    F_OFD_GETLK,
                    F_OFD_SETLK,
                    F_OFD_SETLKW,
                    F_GETLEASE,
                    F_DUPFD_CLOEXEC,
                    F_SETPIPE_SZ,
                    F_GETPIPE_SZ,
                    F_ADD_SEALS,
                    F_GET_SEALS,
                    F_GET_RW_HINT,
                    F_SET_RW_HINT,
                    F_GET_FILE_RW_HINT,
                    F_SET_FILE_RW_HINT});
}
Rules guard_fcntl(pid_t) {
  return any_of(1, {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_NOTIFY});
}

// renameat2: replacing or not, exchanging. Not RENAME_WHITEOUT, which makes a device node that Landlock (ABI 7) doesn't see.
Rules allow_renameat2(const SeccompPlan&) {
  return {{{4, RENAME_WHITEOUT, 0}}};
}

constexpr std::uint32_t kTcgets2 = 0x802c542a;  // TCGETS2, by which glibc 2.42 asks; <asm/termbits.h> and <termios.h> exclude each other
constexpr std::uint32_t kTcsets2 = 0x402c542b, kTcsetsw2 = 0x402c542c, kTcsetsf2 = 0x402c542d;

// ioctl: asking a terminal for its modes and size, what can be read or is to be sent, (non-)blocking and close-on-exec flags. Under `exec`
// also a pseudo terminal of its own, whose other end the supervisor opens (TIOCGPTPEER), and sharing blocks between files. Never TIOCSTI
// and TIOCLINUX (typing into the terminal), FIOSETOWN and SIOCSPGRP (as F_SETOWN).
Rules allow_ioctl(const SeccompPlan& plan) {
  Rules rules = any_of(1, {TCGETS, kTcgets2, TIOCGWINSZ, TIOCOUTQ, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX});
  if (plan.base == Policy::SyscallBase::exec) {
    for (const CallRule& rule :
         any_of(1, {TCSETS,     TCSETSW,   TCSETSF,   kTcsets2,  kTcsetsw2, kTcsetsf2, TCSBRK,     TCSBRKP,     TCXONC,
                    TCFLSH,     TIOCEXCL,  TIOCNXCL,  TIOCPKT,   TIOCGPKT,  TIOCGETD,  TIOCSWINSZ, TIOCGPTN,    TIOCSPTLCK,
                    TIOCGPTLCK, TIOCSCTTY, TIOCNOTTY, TIOCGPGRP, TIOCSPGRP, TIOCGSID,  FICLONE,    FICLONERANGE})) {
      rules.push_back(rule);
    }
  }
  return rules;
}
Rules guard_ioctl(pid_t) {
  return any_of(1, {TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP});
}

// prctl: names, timer slack, huge pages, names of mappings, and asking. Not PR_SET_PDEATHSIG (it would survive the supervisor),
// PR_SET_DUMPABLE, PR_SET_MM, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER.
Rules allow_prctl(const SeccompPlan&) {
  constexpr std::uint32_t kGetAuxv = 0x41555856;  // PR_GET_AUXV, Linux 6.4
  return any_of(0, {PR_GET_PDEATHSIG,   PR_GET_DUMPABLE,        PR_GET_KEEPCAPS,         PR_GET_TIMING,       PR_SET_NAME,
                    PR_GET_NAME,        PR_GET_SECCOMP,         PR_CAPBSET_READ,         PR_GET_SECUREBITS,   PR_SET_TIMERSLACK,
                    PR_GET_TIMERSLACK,  PR_GET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS,     PR_GET_NO_NEW_PRIVS, PR_GET_TID_ADDRESS,
                    PR_SET_THP_DISABLE, PR_GET_THP_DISABLE,     PR_GET_SPECULATION_CTRL, PR_SET_VMA,          kGetAuxv});
}
Rules guard_prctl(pid_t) {
  return any_of(0, {PR_SET_PDEATHSIG});
}

// arch_prctl: the thread register, asking for control-flow protection, and AMX tile state. Not ARCH_MAP_VDSO_* and not switching CPUID off.
Rules allow_arch_prctl(const SeccompPlan&) {
  return any_of(0, {0x1001, 0x1002, 0x1003, 0x1004,          // ARCH_SET_GS, SET_FS, GET_FS, GET_GS
                    0x1021, 0x1022, 0x1023, 0x1024, 0x1025,  // ARCH_{GET,REQ}_XCOMP_*
                    0x3001, 0x5005});                        // ARCH_CET_STATUS (older glibc asks at start), ARCH_SHSTK_STATUS
}

// personality: asking, and the default. Under `exec` also without address randomisation, with which sanitizers start themselves again.
Rules allow_personality(const SeccompPlan& plan) {
  Rules rules = any_of(0, {kAll, PER_LINUX});
  if (plan.base == Policy::SyscallBase::exec) rules.push_back({equals(0, ADDR_NO_RANDOMIZE)});
  return rules;
}

// chmod and its kin: any mode but set-user-ID and set-group-ID, which could outlive the run on a file of the supervisor's user (Landlock
// doesn't mediate chmod).
Rules no_set_id(unsigned mode_index) {
  return {{{mode_index, S_ISUID | S_ISGID, 0}}};
}
Rules allow_chmod(const SeccompPlan&) {
  return no_set_id(1);
}
Rules allow_fchmodat(const SeccompPlan&) {
  return no_set_id(2);
}

// mknod, mknodat: FIFOs and regular files (mkfifo(3) is one of them); no devices, no sockets.
Rules node_types(unsigned mode_index) {
  return {{{mode_index, S_IFMT, 0}}, {{mode_index, S_IFMT, S_IFREG}}, {{mode_index, S_IFMT, S_IFIFO}}};
}
Rules allow_mknod(const SeccompPlan&) {
  return node_types(1);
}
Rules allow_mknodat(const SeccompPlan&) {
  return node_types(2);
}

constexpr std::uint32_t kTypeMask = 0xf;  // SOCK_TYPE_MASK: SOCK_CLOEXEC and SOCK_NONBLOCK are above it, and the kernel refuses other bits

Rules unix_types(std::initializer_list<std::uint32_t> types) {
  Rules rules;
  for (const std::uint32_t type : types) rules.push_back({equals(0, AF_UNIX), {1, kTypeMask, type}});
  return rules;
}

// socket: TCP over IPv4 and IPv6, and only where the policy lists a port, which Landlock then limits. Not MPTCP, UDP and raw sockets, which
// Landlock's TCP rules don't see; AF_UNIX, which reaches any socket of the file system below Landlock ABI 9, only from there on and under
// `exec`; none of the rarer families.
Rules allow_socket(const SeccompPlan& plan) {
  Rules rules;
  if (plan.unix_sockets) rules = unix_types({SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET});
  if (!plan.tcp) return rules;
  for (const std::uint32_t family : {AF_INET, AF_INET6}) {
    for (const std::uint32_t protocol : {0, static_cast<int>(IPPROTO_TCP)}) {
      rules.push_back({equals(0, family), {1, kTypeMask, SOCK_STREAM}, equals(2, protocol)});
    }
  }
  return rules;
}

// socketpair: AF_UNIX SOCK_STREAM and SOCK_SEQPACKET, which stay connected to each other. Of a datagram pair each end could be connected,
// or sent from, to any socket of the file system: only where Landlock keeps unix sockets within the run.
Rules allow_socketpair(const SeccompPlan& plan) {
  return plan.unix_sockets ? unix_types({SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) : unix_types({SOCK_STREAM, SOCK_SEQPACKET});
}

// connect, bind: where there may be sockets. listen, accept: only where the policy lists a port to bind, as listen(2) takes a free port
// without bind(2); and for unix sockets, which are not planned beside TCP sockets that may not listen.
Rules allow_with_tcp(const SeccompPlan& plan) {
  return opened(plan.tcp || plan.unix_sockets);
}
Rules allow_with_bind(const SeccompPlan& plan) {
  return opened(plan.tcp_listen || plan.unix_sockets);
}

// send*: not with MSG_FASTOPEN, which connects and so passes Landlock's connect rule by.
Rules without_fastopen(unsigned flags_index) {
  return {{{flags_index, MSG_FASTOPEN, 0}}};
}
Rules with_fastopen(unsigned flags_index) {
  return {{{flags_index, MSG_FASTOPEN, MSG_FASTOPEN}}};
}
Rules allow_send_flags_3(const SeccompPlan&) {
  return without_fastopen(3);
}
Rules allow_send_flags_2(const SeccompPlan&) {
  return without_fastopen(2);
}
Rules guard_send_flags_3(pid_t) {
  return with_fastopen(3);
}
Rules guard_send_flags_2(pid_t) {
  return with_fastopen(2);
}

// setsockopt: buffers, time-outs, keep-alive, reuse, delays. No attached programs (SO_ATTACH_*), upper layer protocols (TCP_ULP) or fast
// open.
Rules allow_setsockopt(const SeccompPlan&) {
  Rules rules;
  for (const std::uint32_t name : {SO_REUSEADDR, SO_BROADCAST, SO_SNDBUF, SO_RCVBUF, SO_KEEPALIVE, SO_OOBINLINE, SO_LINGER, SO_REUSEPORT,
                                   SO_PASSCRED, SO_RCVLOWAT, SO_RCVTIMEO, SO_SNDTIMEO}) {
    rules.push_back({equals(1, SOL_SOCKET), equals(2, name)});
  }
  for (const std::uint32_t name :
       {TCP_NODELAY, TCP_CORK, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_DEFER_ACCEPT, TCP_QUICKACK, TCP_USER_TIMEOUT}) {
    rules.push_back({equals(1, IPPROTO_TCP), equals(2, name)});
  }
  rules.push_back({equals(1, IPPROTO_IP), equals(2, IP_TOS)});
  rules.push_back({equals(1, IPPROTO_IPV6), equals(2, IPV6_V6ONLY)});
  return rules;
}

// execve, execveat: where programs may be executed at all; Landlock decides which.
Rules allow_execve(const SeccompPlan& plan) {
  return opened(plan.execute);
}

constexpr RestrictedCall kRestricted[] = {
    {"accept", allow_with_bind, nullptr},
    {"accept4", allow_with_bind, nullptr},
    {"arch_prctl", allow_arch_prctl, nullptr},
    {"bind", allow_with_tcp, nullptr},
    {"chmod", allow_chmod, nullptr},
    {"connect", allow_with_tcp, nullptr},
    {"execve", allow_execve, nullptr},
    {"execveat", allow_execve, nullptr},
    {"fchmod", allow_chmod, nullptr},
    {"fchmodat", allow_fchmodat, nullptr},
    {"fchmodat2", allow_fchmodat, nullptr},
    {"fcntl", allow_fcntl, guard_fcntl},
    {"get_robust_list", never, guard_first},
    {"ioctl", allow_ioctl, guard_ioctl},
    {"ioprio_set", allow_ioprio_self, guard_ioprio},
    {"kill", allow_first_self, guard_kill},
    {"listen", allow_with_bind, nullptr},
    {"migrate_pages", never, guard_first},
    {"mknod", allow_mknod, nullptr},
    {"mknodat", allow_mknodat, nullptr},
    {"move_pages", never, guard_first},
    {"personality", allow_personality, nullptr},
    {"pidfd_open", never, guard_first},
    {"prctl", allow_prctl, guard_prctl},
    {"prlimit64", allow_first_self, guard_first},
    {"process_vm_readv", never, guard_first},
    {"process_vm_writev", never, guard_first},
    {"ptrace", never, guard_ptrace},
    {"renameat2", allow_renameat2, nullptr},
    {"rt_sigqueueinfo", allow_first_self, guard_first},
    {"rt_tgsigqueueinfo", allow_first_self, guard_first},
    {"sched_setaffinity", allow_first_self, guard_first},
    {"sched_setattr", allow_first_self, guard_first},
    {"sched_setparam", allow_first_self, guard_first},
    {"sched_setscheduler", allow_first_self, guard_first},
    {"sendmmsg", allow_send_flags_3, guard_send_flags_3},
    {"sendmsg", allow_send_flags_2, guard_send_flags_2},
    {"sendto", allow_send_flags_3, guard_send_flags_3},
    {"setpriority", allow_setpriority_self, guard_setpriority},
    {"setsockopt", allow_setsockopt, nullptr},
    {"socket", allow_socket, nullptr},
    {"socketpair", allow_socketpair, nullptr},
    {"tgkill", allow_first_self, guard_first},
    {"tkill", allow_first_self, guard_first},
};

}  // namespace

std::span<const RestrictedCall> restricted_calls() {
  return kRestricted;
}

}  // namespace podjail
