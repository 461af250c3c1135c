#include "isolation/denied_call.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "support/bpf_evaluator.h"
#include "wire/runner_request.h"

namespace podjail {
namespace {

using test::call;
using Kind = CallDecision::Kind;

const SeccompPlan kPython{.on = true, .listener = true};
const SeccompPlan kMany{.on = true, .listener = true, .processes = true};

void expect_denied(const seccomp_data& data, const char* what, const char* detail, int err = EPERM) {
  const CallDecision decision = decide_call(data, kPython);
  EXPECT_EQ(decision.kind, Kind::deny) << what;
  EXPECT_EQ(decision.err, err) << what;
  EXPECT_EQ(decision.what, what);
  EXPECT_EQ(decision.detail, detail);
}

TEST(DeniedCall, SaysWhatWasAttempted) {
  expect_denied(call(SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0}), "socket", "AF_INET, SOCK_STREAM");
  expect_denied(call(SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_MPTCP}), "socket", "AF_INET, SOCK_STREAM, protocol 262");
  expect_denied(call(SYS_socket, {99, 15, 0}), "socket", "99, 15");
  expect_denied(call(SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0}), "socketpair", "AF_UNIX, SOCK_DGRAM");
  expect_denied(call(SYS_ioctl, {0, (1ULL << 40) | TIOCSTI}), "ioctl", "TIOCSTI");
  expect_denied(call(SYS_fcntl, {0, F_SETOWN}), "fcntl", "F_SETOWN");
  expect_denied(call(SYS_prctl, {1}), "prctl", "PR_SET_PDEATHSIG");
  expect_denied(call(SYS_ptrace, {16, 7}), "ptrace", "pid 7");
  expect_denied(call(SYS_bpf), "bpf", "");
  expect_denied(call(469), "file_setattr", "");
  expect_denied(call(471), "syscall_471", "", ENOSYS);
  expect_denied(call(400), "syscall_400", "", ENOSYS);
  expect_denied(call(-1), "syscall_-1", "", ENOSYS);
  expect_denied(call(SYS_clone3), "clone3", "", ENOSYS);
}

TEST(DeniedCall, TheOtherEndOfATerminal) {
  const SeccompPlan exec{.on = true, .base = Policy::SyscallBase::exec, .listener = true};
  const auto given = decide_call(call(SYS_ioctl, {7, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC}), exec);
  EXPECT_EQ(given.kind, Kind::terminal);
  EXPECT_EQ(given.file, 7U);
  EXPECT_TRUE(given.cloexec);
  EXPECT_FALSE(given.nonblock);
  expect_denied(call(SYS_ioctl, {7, TIOCGPTPEER}), "ioctl", "TIOCGPTPEER", ENOTTY);
  EXPECT_EQ(decide_call(call(SYS_ioctl, {~0ULL, TIOCGPTPEER}), exec).kind, Kind::deny);
}

TEST(DeniedCall, TheRunnersRequests) {
  const auto file = decide_call(call(SYS_prctl, {wire::kOpenProcFile, 3, 77, 78, 1}), kPython);
  EXPECT_EQ(file.kind, Kind::proc_file);
  EXPECT_EQ(file.file, 3U);
  EXPECT_EQ(file.target, 77);
  EXPECT_EQ(file.thread, 78);
  EXPECT_TRUE(file.cloexec);
  const auto claim = decide_call(call(SYS_prctl, {wire::kClaimSharedMemory, 5}), kPython);
  EXPECT_EQ(claim.kind, Kind::claim);
  EXPECT_EQ(claim.file, 5U);
  for (const auto& odd : {call(SYS_prctl, {wire::kOpenProcFile, wire::kProcFiles.size()}), call(SYS_prctl, {wire::kOpenProcFile, 0, ~0ULL}),
                          call(SYS_prctl, {wire::kOpenProcFile, 0, 0, ~0ULL}), call(SYS_prctl, {wire::kClaimSharedMemory, ~0ULL})}) {
    EXPECT_EQ(decide_call(odd, kPython).kind, Kind::deny);
    EXPECT_EQ(decide_call(odd, kPython).err, EPERM);
  }
  const SeccompPlan closed{.on = true, .deny = {"prctl"}, .listener = true};
  EXPECT_EQ(decide_call(call(SYS_prctl, {wire::kOpenProcFile, 3}), closed).kind, Kind::deny);
}

TEST(DeniedCall, ProcessesAndThreadsAreTheSupervisorsToCount) {
  constexpr std::uint64_t kThread = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;
  EXPECT_EQ(decide_call(call(SYS_clone, {kThread}), kPython).kind, Kind::new_thread);
  EXPECT_EQ(decide_call(call(SYS_clone, {kThread}), kPython).err, EAGAIN);
  EXPECT_EQ(decide_call(call(SYS_clone, {SIGCHLD}), kMany).kind, Kind::new_process);
  EXPECT_EQ(decide_call(call(SYS_vfork), kMany).kind, Kind::new_process);
  EXPECT_EQ(decide_call(call(SYS_fork, {CLONE_NEWUSER}), kMany).kind,
            Kind::new_process);  // fork has no flags: what lies in the register means nothing
  expect_denied(call(SYS_clone, {SIGCHLD}), "clone", "");
  expect_denied(call(SYS_fork), "fork", "");
  expect_denied(call(SYS_clone, {CLONE_NEWUSER | CLONE_NEWNET | SIGCHLD}), "clone", "CLONE_NEWUSER|CLONE_NEWNET");
  expect_denied(call(SYS_clone, {CLONE_PARENT | kThread}), "clone", "CLONE_PARENT");
  EXPECT_EQ(decide_call(call(SYS_clone, {CLONE_PARENT | SIGCHLD}), kMany).kind, Kind::deny);
  SeccompPlan opened = kPython;
  opened.allow = {"fork"};
  EXPECT_EQ(decide_call(call(SYS_fork), opened).kind, Kind::new_process);
  EXPECT_EQ(decide_call(call(SYS_clone, {SIGCHLD}), opened).kind, Kind::deny);
  SeccompPlan closed = kMany;
  closed.deny = {"fork", "clone"};
  EXPECT_EQ(decide_call(call(SYS_fork), closed).kind, Kind::deny);
  EXPECT_EQ(decide_call(call(SYS_clone, {kThread}), closed).kind, Kind::deny);
}

void expect_target(const seccomp_data& data, pid_t target, const char* detail) {
  const CallDecision decision = decide_call(data, kPython);
  EXPECT_EQ(decision.kind, Kind::target) << decision.what;
  EXPECT_EQ(decision.target, target) << decision.what;
  EXPECT_EQ(decision.err, EPERM) << decision.what;
  EXPECT_EQ(decision.detail, detail);
}

TEST(DeniedCall, AskForMembershipOfATarget) {
  constexpr std::uint64_t kHigh = 1ULL << 32;
  expect_target(call(SYS_kill, {1, SIGTERM}), 1, "pid 1, SIGTERM");
  expect_target(call(SYS_kill, {kHigh | 1, SIGTERM}), 1, "pid 1, SIGTERM");
  expect_target(call(SYS_kill, {static_cast<std::uint64_t>(-55), SIGKILL}), 55, "process group 55, SIGKILL");
  EXPECT_TRUE(decide_call(call(SYS_kill, {static_cast<std::uint64_t>(-55), SIGKILL}), kPython).group);
  expect_target(call(SYS_tkill, {77, SIGUSR1}), 77, "pid 77, SIGUSR1");
  expect_target(call(SYS_tgkill, {77, 78, SIGUSR1}), 77, "pid 77, SIGUSR1");
  expect_target(call(SYS_rt_sigqueueinfo, {77, 40}), 77, "pid 77, signal 40");
  expect_target(call(SYS_rt_tgsigqueueinfo, {77, 78, SIGHUP}), 77, "pid 77, SIGHUP");
  expect_target(call(SYS_prlimit64, {77, RLIMIT_FSIZE}), 77, "pid 77, RLIMIT_FSIZE");
  expect_target(call(SYS_sched_setaffinity, {77}), 77, "pid 77");
  expect_target(call(SYS_setpriority, {PRIO_PROCESS, 77}), 77, "pid 77");
  expect_target(call(SYS_ioprio_set, {1, 77}), 77, "pid 77");
}

TEST(DeniedCall, WhatReachesMoreThanTheTreeIsDenied) {
  expect_denied(call(SYS_kill, {static_cast<std::uint64_t>(-1), SIGKILL}), "kill", "every process, SIGKILL");
  expect_denied(call(SYS_kill, {0xffffffff, SIGKILL}), "kill", "every process, SIGKILL");
  expect_denied(call(SYS_kill, {0x80000000, SIGKILL}), "kill", "pid -2147483648, SIGKILL");
  expect_denied(call(SYS_tkill, {static_cast<std::uint64_t>(-5), SIGKILL}), "tkill", "pid -5, SIGKILL");
  expect_denied(call(SYS_setpriority, {PRIO_PGRP, 0}), "setpriority", "a process group");
  expect_denied(call(SYS_setpriority, {PRIO_USER, 0}), "setpriority", "a user");
  expect_denied(call(SYS_ioprio_set, {3, 0}), "ioprio_set", "a user");
}

TEST(DeniedCall, PidfdsOnlyUnderExec) {
  SeccompPlan exec = kMany;
  exec.base = Policy::SyscallBase::exec;
  EXPECT_EQ(decide_call(call(SYS_pidfd_open, {77}), exec).kind, Kind::target);
  EXPECT_EQ(decide_call(call(SYS_pidfd_open, {77}), kMany).kind, Kind::deny);
}

}  // namespace
}  // namespace podjail
