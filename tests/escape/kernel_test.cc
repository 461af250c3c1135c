#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "support/attack.h"
#include "sys/landlock.h"
#include "sys/proc_read.h"

namespace podjail::test {
namespace {

long a_socket(int family, int type, int protocol = 0) {
  return ::syscall(SYS_socket, family, type, protocol);
}

const Attack kSockets[] = {
    {"C-04", "TCP", [] { return a_socket(AF_INET, SOCK_STREAM); }, 0, EPERM},
    {"C-04", "TCP over IPv6", [] { return a_socket(AF_INET6, SOCK_STREAM); }, kAny, EPERM},
    {"C-04", "UDP", [] { return a_socket(AF_INET, SOCK_DGRAM); }, 0, EPERM},
    {"C-04", "MPTCP", [] { return a_socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP); }, kAny, EPERM},
    {"C-04", "unix", [] { return a_socket(AF_UNIX, SOCK_STREAM); }, 0, EPERM},
    {"C-04", "unix, high bits set", [] { return ::syscall(SYS_socket, (1L << 32) | AF_UNIX, SOCK_STREAM, 0); }, 0, EPERM},
    {"C-04", "netlink", [] { return a_socket(AF_NETLINK, SOCK_RAW); }, kAny, EPERM},
    {"C-04", "vsock", [] { return a_socket(AF_VSOCK, SOCK_STREAM); }, kAny, EPERM},
    {"C-04", "kernel cryptography", [] { return a_socket(AF_ALG, SOCK_SEQPACKET); }, kAny, EPERM},
    {"C-04", "packet", [] { return a_socket(AF_PACKET, SOCK_RAW); }, kAny, EPERM},
    {"C-04", "a datagram pair",
     [] {
       int ends[2];
       return ::syscall(SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, ends);
     },
     0, EPERM},
    {"C-04", "fast open", [] { return ::syscall(SYS_sendto, -1, "", 0, MSG_FASTOPEN, nullptr, 0); }, EBADF, EPERM},
};

const sock_filter kAllowAll[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
const sock_fprog kProgram{1, const_cast<sock_filter*>(kAllowAll)};

const Attack kKernel[] = {
    {"C-07", "io_uring",
     [] {
       io_uring_params params{};
       return ::syscall(SYS_io_uring_setup, 1, &params);
     },
     kAny, EPERM},
    {"C-07", "userfaultfd", [] { return ::syscall(SYS_userfaultfd, 1); }, kAny, EPERM},
    {"C-07", "bpf", [] { return ::syscall(SYS_bpf, 0, nullptr, 0); }, kAny, EPERM},
    {"C-07", "perf events", [] { return ::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); }, kAny, EPERM},
    {"C-07", "keyrings", [] { return ::syscall(SYS_keyctl, 0, -3, 0); }, kAny, EPERM},
    {"C-07", "add a key", [] { return ::syscall(SYS_add_key, nullptr, nullptr, nullptr, 0, 0); }, kAny, EPERM},
    {"C-07", "a memory file", [] { return ::syscall(SYS_memfd_create, "x", 0); }, 0, EPERM},
    {"C-07", "a filter of its own", [] { return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &kProgram); }, 0, EPERM},
    {"C-07", "a filter by prctl", [] { return long{::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &kProgram)}; }, 0, EPERM},
    {"C-07", "clone3", [] { return ::syscall(SYS_clone3, nullptr, 0); }, EINVAL, ENOSYS},
    {"C-07", "unshare", [] { return ::syscall(SYS_unshare, CLONE_NEWUSER); }, kAny, EPERM},
    {"C-07", "clone a user namespace",
     [] {
       const long child = ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
       if (child == 0) ::_exit(0);
       return child;
     },
     kAny, EPERM},
    {"C-07", "setns", [] { return ::syscall(SYS_setns, -1, 0); }, EBADF, EPERM},
    {"C-07", "mount", [] { return ::syscall(SYS_mount, "none", "/nowhere", "tmpfs", 0, nullptr); }, kAny, EPERM},
    {"C-07", "fsopen", [] { return ::syscall(SYS_fsopen, "tmpfs", 0); }, EPERM, EPERM},
    {"C-07", "chroot", [] { return ::syscall(SYS_chroot, "/"); }, EPERM, EPERM},
    {"C-07", "shared memory that outlives it", [] { return ::syscall(SYS_shmget, 0x706a, 1, 0600); }, ENOENT, EPERM},
    {"C-07", "semaphores", [] { return ::syscall(SYS_semget, 0x706a, 1, 0600); }, ENOENT, EPERM},
    {"C-07", "message queues", [] { return ::syscall(SYS_msgget, 0x706a, 0600); }, ENOENT, EPERM},
    {"C-07", "POSIX message queues", [] { return ::syscall(SYS_mq_open, "podjail-none", O_RDONLY, 0, nullptr); }, kAny, EPERM},
    {"C-07", "another personality", [] { return ::syscall(SYS_personality, READ_IMPLIES_EXEC); }, 0, EPERM},
    {"C-07", "syscall dispatch", [] { return long{::prctl(59, 0, 0, 0, 0)}; }, kAny, EPERM},
    {"C-07", "descriptor tables", [] { return ::syscall(SYS_modify_ldt, 0, nullptr, 0); }, kAny, EPERM},
    {"C-07", "fanotify", [] { return ::syscall(SYS_fanotify_init, 0, 0); }, kAny, EPERM},
    {"C-07", "quotas", [] { return ::syscall(SYS_quotactl, 0, nullptr, 0, nullptr); }, kAny, EPERM},
    {"C-07", "new calls that take paths", [] { return ::syscall(463, -1, nullptr, 0, nullptr, nullptr, 0); }, kAny, EPERM},
    {"C-07", "a call that does not exist", [] { return ::syscall(999); }, ENOSYS, ENOSYS},
    {"C-07", "x32", [] { return ::syscall(0x40000000L | SYS_getpid); }, kAny, kKilled},
    {"C-07", "i386",
     [] {
       long result = 20;  // getpid there
       __asm__ volatile("int $0x80" : "+a"(result)::"memory");
       return result;
     },
     kAny, kKilled},
};

const Attack kProcesses[] = {
    {"C-08", "fork",
     [] {
       const long child = ::syscall(SYS_fork);
       if (child == 0) ::_exit(0);
       return child;
     },
     0, EPERM},
    {"C-08", "fork by clone",
     [] {
       const long child = ::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
       if (child == 0) ::_exit(0);
       return child;
     },
     0, EPERM},
    {"C-08", "a process that is not its child",
     [] {
       const long child = ::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
       if (child == 0) ::_exit(0);
       return child;
     },
     0, EPERM},
    {"C-08", "execute a program", [] { return ::syscall(SYS_execve, "/no/such/program", nullptr, nullptr); }, ENOENT, EPERM},
    {"C-08", "execute by descriptor", [] { return ::syscall(SYS_execveat, -1, "", nullptr, nullptr, AT_EMPTY_PATH); }, EBADF, EPERM},
};

TEST(EscapeKernel, NoSockets) {
  expect_all(kSockets, closed_policy());
}
TEST(EscapeKernel, NoRareSurface) {
  expect_all(kKernel, closed_policy());
}
TEST(EscapeKernel, NoSecondProcess) {
  expect_all(kProcesses, closed_policy());
}

// The kernel's own word, with a listener and without: both filters, no_new_privs, no capability.
TEST(EscapeKernel, TheKernelShowsTheJail) {  // C-07
  const auto own = read_proc_status(::getpid());
  ASSERT_TRUE(own);
  for (const bool listener : {true, false}) {
    const ChildEnd end = run_jailed({.policy = closed_policy(), .listener = listener}, [&] {
      const auto status = read_proc_status(::getpid());
      if (!status || status->seccomp_filters != own->seccomp_filters + 2 || status->seccomp_mode != SECCOMP_MODE_FILTER) return 1;
      return status->no_new_privs && (status->cap_effective | status->cap_permitted) == 0 ? 0 : 2;
    });
    EXPECT_EQ(end.code, 0) << listener;
  }
}

// The guard filter: what the policy opens stays closed for the supervisor. An older Landlock, so that no scope helps.
TEST(EscapeKernel, OpenedCallsSpareTheSupervisor) {  // C-03
  Policy policy = closed_policy();
  policy.syscalls.allow = {"kill", "prlimit64", "ioctl"};
  for (const bool listener : {true, false}) {
    const ChildEnd end = run_jailed({.policy = policy, .listener = listener, .max_landlock_abi = 5}, [] {
      if (::syscall(SYS_kill, 1 << 29, 0) == 0 || errno != ESRCH) return 1;  // open for others
      if (::kill(::getppid(), 0) == 0 || errno != EPERM) return 2;
      if (::kill(-1, 0) == 0 || errno != EPERM) return 3;
      if (::syscall(SYS_prlimit64, ::getppid(), 0, nullptr, nullptr) == 0 || errno != EPERM) return 4;
      if (::syscall(SYS_ioctl, -1, (1L << 40) | TIOCSTI, "") == 0 || errno != EPERM) return 5;
      return ::syscall(SYS_ioctl, -1, 0x1234, 0) != 0 && errno == EBADF ? 0 : 6;
    });
    EXPECT_EQ(end.code, 0) << listener;
  }
}

// C-04: where ports are listed, TCP works to these and no others.
TEST(EscapeKernel, OnlyListedPorts) {
  if (landlock::abi_version() < 4) GTEST_SKIP() << "needs Landlock ABI 4";
  Policy policy = closed_policy();
  policy.network.connect_tcp = {9};
  const auto connect_to = [](std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  };
  for (const bool listener : {true, false}) {
    EXPECT_EQ(run_jailed({.policy = policy, .listener = listener}, [&] { return connect_to(9); }).code, ECONNREFUSED);
    EXPECT_EQ(run_jailed({.policy = policy, .listener = listener}, [&] { return connect_to(10); }).code, EACCES);
    EXPECT_EQ(
        run_jailed({.policy = policy, .listener = listener}, [] { return ::listen(::socket(AF_INET, SOCK_STREAM, 0), 1) == 0 ? 0 : errno; })
            .code,
        EPERM);
    EXPECT_EQ(run_jailed({.policy = policy, .listener = listener}, [] { return ::socket(AF_INET, SOCK_DGRAM, 0) >= 0 ? 0 : errno; }).code,
              EPERM);
  }
}

// What CPython, numpy and their threads do all day.
TEST(EscapeKernel, HonestCallsWork) {
  expect_works("memory, time, pairs, randomness", closed_policy(), [] {
    void* memory = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || ::mprotect(memory, 4096, PROT_READ) != 0 || ::madvise(memory, 1 << 20, MADV_DONTNEED) != 0) return errno;
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0 || ::send(ends[0], "x", 1, MSG_NOSIGNAL) != 1) return errno;
    int kind = 0;
    socklen_t length = sizeof kind;
    if (::getsockopt(ends[0], SOL_SOCKET, SO_TYPE, &kind, &length) != 0 || kind != SOCK_STREAM) return errno;
    char byte = 0;
    if (::recv(ends[1], &byte, 1, 0) != 1 || ::syscall(SYS_getrandom, &byte, 1, 0) != 1) return errno;
    const timespec moment{0, 1000};
    if (::nanosleep(&moment, nullptr) != 0 || ::prctl(PR_SET_NAME, "renamed") != 0) return errno;
    return ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && ::fcntl(ends[0], F_DUPFD_CLOEXEC, 10) >= 0 ? 0 : errno;
  });
}

}  // namespace
}  // namespace podjail::test
