#include "isolation/answered_calls.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "isolation/syscall_groups.h"
#include "wire/runner_request.h"

namespace podjail {
namespace {

constexpr std::uint32_t kSyscallUserDispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH, Linux 5.11

const AnsweredCall kAnswered[] = {
    // libacl (cp -p, install, sed -i, tar, rsync) copies the mode by an ACL first, and takes chmod where there are none. An ACL on the
    // result folder would give podjail's next file there its mode; any other attribute could outlive the run.
    {"setxattr", "a file system without extended attributes", EOPNOTSUPP},
    {"lsetxattr", "a file system without extended attributes", EOPNOTSUPP},
    {"fsetxattr", "a file system without extended attributes", EOPNOTSUPP},
    {"removexattr", "a file system without extended attributes", EOPNOTSUPP},
    {"lremovexattr", "a file system without extended attributes", EOPNOTSUPP},
    {"fremovexattr", "a file system without extended attributes", EOPNOTSUPP},
    {"file_setattr", "a file system without such attributes (Linux 6.17); the ioctl that it replaces is answered likewise", EOPNOTSUPP},
    {"name_to_handle_at", "a file system without handles: paths are compared instead", EOPNOTSUPP},
    {"sync", "nothing of the run has to survive the node, and a flush of all its disks would be everybody's", 0},
    {"syncfs", "as sync; fsync is allowed", 0},
    {"io_setup", "a kernel without CONFIG_AIO: threads do it", ENOSYS},
    {"memfd_secret", "a kernel without secretmem.enable", ENOSYS},
    {"statmount", "a kernel before 6.8: mountinfo is read instead", ENOSYS},
    {"listmount", "a kernel before 6.8: mountinfo is read instead", ENOSYS},
    {"renameat2", "a file system without whiteouts: restricted_calls.cc allows the other flags", EINVAL},
    // A driver's answer to an ioctl that it doesn't know.
    {"ioctl",
     "a driver without this request",
     ENOTTY,
     1,
     {TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP, FIOASYNC, TIOCSETD, TIOCCONS, TIOCGPTPEER}},
    {"fcntl", "a kernel without this command", EINVAL, 1, {F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETLEASE, F_NOTIFY}},
    {"prctl",
     "a kernel without this option",
     EINVAL,
     0,
     {PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_MM,
      PR_SET_CHILD_SUBREAPER, PR_CAP_AMBIENT, PR_SET_PTRACER, kSyscallUserDispatch, wire::kOpenProcFile, wire::kClaimSharedMemory}},
};

constexpr std::uint32_t kNumber = offsetof(seccomp_data, nr);

constexpr std::uint32_t low_half(int index) {  // little endian
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + static_cast<std::size_t>(index) * sizeof(std::uint64_t));
}

}  // namespace

std::span<const AnsweredCall> answered_calls() {
  return kAnswered;
}

std::vector<sock_filter> answers(const SeccompPlan& plan) {
  std::vector<sock_filter> program;
  for (const AnsweredCall& call : kAnswered) {
    const int number = syscall_number(call.name);
    if (number < 0 || std::ranges::find(plan.deny, call.name) != plan.deny.end()) continue;
    const auto asked = static_cast<std::uint8_t>(call.asked.size());
    const auto rest = static_cast<std::uint8_t>(call.index < 0 ? 1 : asked + 2);
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, rest));
    if (call.index >= 0) {
      program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low_half(call.index)));
      std::uint8_t left = asked;
      for (const std::uint32_t value : call.asked) program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, left--, 0));
    }
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(call.err)));
  }
  return program;
}

}  // namespace podjail
