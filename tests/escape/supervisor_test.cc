#include <fcntl.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "support/attack.h"

namespace podjail::test {
namespace {

constexpr long kHigh = 1L << 32;  // the kernel drops it from a PID

int a_pipe() {
  int ends[2];
  return ::pipe(ends) == 0 ? ends[0] : -1;
}

int a_socket() {
  int ends[2];
  return ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 ? ends[0] : -1;
}

// Signal 0 asks only whether it could be sent.
const Attack kSignals[] = {
    {"C-03", "kill the supervisor", [] { return ::syscall(SYS_kill, ::getppid(), 0); }, 0, EPERM},
    {"C-03", "kill, high bits set", [] { return ::syscall(SYS_kill, kHigh | ::getppid(), 0); }, 0, EPERM},
    {"C-03", "kill its process group", [] { return ::syscall(SYS_kill, -::getpgid(::getppid()), 0); }, 0, EPERM},
    {"C-03", "kill everyone", [] { return ::syscall(SYS_kill, -1, 0); }, 0, EPERM},
    {"C-03", "kill everyone, low bits only", [] { return ::syscall(SYS_kill, 0xffffffffL, 0); }, 0, EPERM},
    {"C-03", "tkill", [] { return ::syscall(SYS_tkill, ::getppid(), 0); }, 0, EPERM},
    {"C-03", "tgkill", [] { return ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0); }, 0, EPERM},
    {"C-03", "rt_sigqueueinfo",
     [] {
       siginfo_t info{};
       info.si_code = SI_QUEUE;
       return ::syscall(SYS_rt_sigqueueinfo, ::getppid(), 0, &info);
     },
     0, EPERM},
    {"C-03", "rt_tgsigqueueinfo",
     [] {
       siginfo_t info{};
       info.si_code = SI_QUEUE;
       return ::syscall(SYS_rt_tgsigqueueinfo, ::getppid(), ::getppid(), 0, &info);
     },
     0, EPERM},
    {"C-03", "pidfd_open", [] { return ::syscall(SYS_pidfd_open, ::getppid(), 0); }, 0, EPERM},
    {"C-03", "pidfd_send_signal", [] { return ::syscall(SYS_pidfd_send_signal, -1, 0, nullptr, 0); }, EBADF, EPERM},
    {"C-03", "pidfd_getfd", [] { return ::syscall(SYS_pidfd_getfd, -1, 0, 0); }, EBADF, EPERM},
    {"C-03", "F_SETOWN: the kernel sends", [] { return long{::fcntl(a_pipe(), F_SETOWN, ::getppid())}; }, 0, EPERM},
    {"C-03", "F_SETOWN, high bits set", [] { return ::syscall(SYS_fcntl, a_pipe(), kHigh | F_SETOWN, ::getppid()); }, 0, EPERM},
    {"C-03", "F_SETOWN_EX",
     [] {
       const f_owner_ex owner{F_OWNER_PID, ::getppid()};
       return long{::fcntl(a_pipe(), F_SETOWN_EX, &owner)};
     },
     0, EPERM},
    {"C-03", "F_SETSIG", [] { return long{::fcntl(a_pipe(), F_SETSIG, SIGTERM)}; }, 0, EPERM},
    {"C-03", "FIOSETOWN",
     [] {
       const int pid = ::getppid();
       return long{::ioctl(a_socket(), FIOSETOWN, &pid)};
     },
     0, EPERM},
    {"C-03", "SIOCSPGRP, high bits set",
     [] {
       const int pid = ::getppid();
       return ::syscall(SYS_ioctl, a_socket(), kHigh | SIOCSPGRP, &pid);
     },
     0, EPERM},
    {"C-03", "survive it by PR_SET_PDEATHSIG", [] { return long{::prctl(PR_SET_PDEATHSIG, 0)}; }, 0, EPERM},
};

const Attack kTampering[] = {
    {"C-03", "its resource limits",
     [] {
       rlimit old{};
       return ::syscall(SYS_prlimit64, ::getppid(), RLIMIT_FSIZE, nullptr, &old);
     },
     0, EPERM},
    {"C-03", "its resource limits, high bits set",
     [] { return ::syscall(SYS_prlimit64, kHigh | ::getppid(), RLIMIT_FSIZE, nullptr, nullptr); }, 0, EPERM},
    {"C-03", "its priority", [] { return ::syscall(SYS_setpriority, PRIO_PROCESS, ::getppid(), 0); }, 0, EPERM},
    {"C-03", "a group's priority", [] { return ::syscall(SYS_setpriority, PRIO_PGRP, 0, 0); }, 0, EPERM},
    {"C-03", "every process's priority", [] { return ::syscall(SYS_setpriority, PRIO_USER, 0, 0); }, 0, EPERM},
    {"C-03", "its I/O priority", [] { return ::syscall(SYS_ioprio_set, 1, ::getppid(), 0); }, 0, EPERM},
    {"C-03", "every process's I/O priority", [] { return ::syscall(SYS_ioprio_set, 3, ::getuid(), 0); }, 0, EPERM},
    {"C-03", "its CPUs",
     [] {
       cpu_set_t set;
       ::sched_getaffinity(::getppid(), sizeof set, &set);
       return ::syscall(SYS_sched_setaffinity, ::getppid(), sizeof set, &set);
     },
     0, EPERM},
    {"C-03", "its scheduler",
     [] {
       const sched_param param{};
       return ::syscall(SYS_sched_setscheduler, ::getppid(), SCHED_OTHER, &param);
     },
     0, EPERM},
    {"C-03", "read its memory",
     [] {
       static char here, there;
       const iovec local{&here, 1}, remote{&there, 1};
       return ::syscall(SYS_process_vm_readv, ::getppid(), &local, 1, &remote, 1, 0);
     },
     kAny, EPERM},
    {"C-03", "write its memory",
     [] {
       static char here, there;
       const iovec local{&here, 1}, remote{&there, 1};
       return ::syscall(SYS_process_vm_writev, ::getppid(), &local, 1, &remote, 1, 0);
     },
     kAny, EPERM},
    {"C-03", "trace", [] { return ::syscall(SYS_ptrace, PTRACE_ATTACH, 1 << 29, 0, 0); }, ESRCH, EPERM},
    {"C-03", "its locks", [] { return ::syscall(SYS_get_robust_list, ::getppid(), nullptr, nullptr); }, kAny, EPERM},
    {"C-03", "compare with it", [] { return ::syscall(SYS_kcmp, ::getpid(), ::getppid(), 0, 0, 0); }, kAny, EPERM},
    {"C-03", "move its memory", [] { return ::syscall(SYS_migrate_pages, ::getppid(), 0, nullptr, nullptr); }, kAny, EPERM},
    {"C-03", "type into the terminal", [] { return ::syscall(SYS_ioctl, -1, TIOCSTI, ""); }, EBADF, EPERM},
    {"C-03", "type into the terminal, high bits set", [] { return ::syscall(SYS_ioctl, -1, (1L << 40) | TIOCSTI, ""); }, EBADF, EPERM},
    {"C-03", "paste into the console", [] { return ::syscall(SYS_ioctl, -1, TIOCLINUX, ""); }, EBADF, EPERM},
};

TEST(EscapeSupervisor, NoSignalReachesIt) {
  expect_all(kSignals, closed_policy());
}
TEST(EscapeSupervisor, NothingOfItCanBeChanged) {
  expect_all(kTampering, closed_policy());
}

TEST(EscapeSupervisor, ItselfStaysReachable) {
  expect_works("signals, limits and priority of its own", closed_policy(), [] {
    ::signal(SIGUSR1, SIG_IGN);
    if (::raise(SIGUSR1) != 0 || ::kill(::getpid(), SIGUSR1) != 0 || ::kill(0, SIGUSR1) != 0) return errno;
    rlimit limit{};
    if (::prlimit(0, RLIMIT_NOFILE, nullptr, &limit) != 0 || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) return errno;
    if (::setpriority(PRIO_PROCESS, 0, 5) != 0 || ::getpriority(PRIO_PROCESS, 0) != 5) return errno;
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) != 0 || ::sched_setaffinity(::getpid(), sizeof set, &set) != 0) return errno;
    return 0;
  });
}

void* nothing(void*) {
  return nullptr;
}
void* sleep_long(void*) {
  ::pause();
  return nullptr;
}

TEST(EscapeSupervisor, ThreadsWork) {
  expect_works("threads", closed_policy(), [] {
    for (int i = 0; i < 20; ++i) {
      pthread_t thread;
      if (const int err = ::pthread_create(&thread, nullptr, nothing, nullptr); err != 0) return err;
      ::pthread_join(thread, nullptr);
    }
    ::signal(SIGUSR1, SIG_IGN);
    pthread_t thread;
    if (const int err = ::pthread_create(&thread, nullptr, sleep_long, nullptr); err != 0) return err;
    return ::pthread_kill(thread, SIGUSR1);
  });
}

// A group and a child of its own are targets that the supervisor lets pass, itself and strangers never.
TEST(EscapeSupervisor, TheTreeMayBeSignalled) {
  Policy policy = closed_policy();
  policy.limits.processes = 4;
  const auto body = [] {
    const pid_t child = ::fork();
    if (child < 0) return errno;
    if (child == 0) {
      ::setpgid(0, 0);
      ::sleep(10);  // bounded: nothing is left over when the test fails
      ::_exit(0);
    }
    ::setpgid(child, child);
    if (::kill(child, 0) != 0) return 100 + errno;
    if (::kill(-child, SIGKILL) != 0) return errno;
    return wait_for(child).signal == SIGKILL && ::kill(::getppid(), 0) != 0 && errno == EPERM ? 0 : 99;
  };
  Records records;
  EXPECT_EQ(run_jailed({.policy = policy}, body, &records).code, 0);
  EXPECT_GE(records.size(), 4U);  // fork, two signals of its own, one to the supervisor
}

TEST(EscapeSupervisor, AttemptsAreRecorded) {
  Records records;
  const ChildEnd end = run_jailed(
      {.policy = closed_policy()},
      [] {
        (void)::syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0);
        (void)::syscall(SYS_kill, 1, SIGTERM);
        (void)::syscall(999);
        return errno;
      },
      &records);
  EXPECT_EQ(end.code, ENOSYS);
  Records expected = {"socket(AF_INET, SOCK_DGRAM)", "kill(pid 1, SIGTERM)"};
  if (!under_runtime_filter()) expected.emplace_back("syscall_999()");  // else refused before it can be notified
  EXPECT_EQ(records, expected);
}

}  // namespace
}  // namespace podjail::test
