#include "isolation/seccomp_program.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>

#include "isolation/answered_calls.h"
#include "isolation/seccomp_compile.h"
#include "isolation/syscall_groups.h"

namespace podjail {
namespace {

constexpr bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Expected<void> check_names(const std::vector<std::string>& names, const char* field) {
  for (const std::string& name : names) {
    if (syscall_number(name) >= 0) continue;
    const std::string near = nearest_syscall(name);
    return fail(
        std::string(field) + ": no such system call on this architecture" + (near.empty() ? "" : " (did you mean " + near + "?)") + ":", 0,
        name);
  }
  return {};
}

// Replaces every "not allowed" by a jump to the answered calls and then `decision`, appended.
void decide_at_the_end(std::vector<sock_filter>& program, const SeccompPlan& plan, std::span<const sock_filter> decision) {
  const std::size_t start = program.size();
  for (std::size_t i = 0; i < start; ++i) {
    if (program[i].code == (BPF_RET | BPF_K) && program[i].k == kNotAllowed) {
      program[i] = BPF_STMT(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(start - i - 1));
    }
  }
  const std::vector<sock_filter> answered = answers(plan);
  program.insert(program.end(), answered.begin(), answered.end());
  program.insert(program.end(), decision.begin(), decision.end());
}

// What becomes of clone, fork and vfork where the supervisor isn't asked: threads allowed; processes allowed (uncounted, the watcher sees
// them) where the plan has more than one. Everything else goes on behind these instructions; forbidden clone flags get `forbidden`.
std::vector<sock_filter> decide_tasks(const SeccompPlan& plan, std::uint32_t forbidden) {
  const auto opened = [&](std::string_view name) { return !contains(plan.deny, name) && (plan.processes || contains(plan.allow, name)); };
  const auto allow_if = [forbidden](bool allowed) { return allowed ? SECCOMP_RET_ALLOW : forbidden; };
  constexpr std::uint32_t kNumber = offsetof(seccomp_data, nr), kFlags = offsetof(seccomp_data, args[0]);  // little endian: the low 32 bits
  return {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 6),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlags),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kForbiddenCloneFlags, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, forbidden),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, allow_if(!contains(plan.deny, "clone"))),
      BPF_STMT(BPF_RET | BPF_K, allow_if(opened("clone"))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, allow_if(opened("fork"))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, allow_if(opened("vfork"))),
  };
}

// A signal handler without SA_RESTART (dash's, for SIGCHLD) ends a fork(2) with EINTR when its signal comes before the supervisor has
// received the notification, and no shell expects that (seen). So under `exec` clones are not asked about.
std::vector<sock_filter> with_listener(std::vector<sock_filter> program, const SeccompPlan& plan) {
  std::vector<sock_filter> decision;
  if (!plan.count_tasks) decision = decide_tasks(plan, SECCOMP_RET_USER_NOTIF);
  decision.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  decide_at_the_end(program, plan, decision);
  return program;
}

// What a listener would be asked, decided without one: known calls EPERM, unknown numbers ENOSYS. Signals and limits for others in the tree
// are denied, as nobody can tell who is in it.
std::vector<sock_filter> with_errnos(std::vector<sock_filter> program, const SeccompPlan& plan) {
  constexpr std::uint32_t kEnosys = SECCOMP_RET_ERRNO | ENOSYS, kEperm = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> decision = decide_tasks(plan, kEperm);
  const sock_filter errnos[] = {
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kLastKnown, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kFirstHole, 0, 2),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kLastHole, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, kEnosys),
      BPF_STMT(BPF_RET | BPF_K, kEperm),
  };
  decision.insert(decision.end(), std::begin(errnos), std::end(errnos));
  decide_at_the_end(program, plan, decision);
  return program;
}

Expected<CompiledFilters> filters_for(const SeccompPlan& plan, pid_t supervisor) {
  if (plan.allow.empty() && plan.deny.empty() && !plan.tcp && !plan.tcp_listen && !plan.unix_sockets) {
    for (const PrebuiltFilters& row : prebuilt_filters()) {
      if (row.base == plan.base && row.execute == plan.execute) {
        return CompiledFilters{{row.guard.begin(), row.guard.end()}, {row.allow_list.begin(), row.allow_list.end()}};
      }
    }
  }
  return compile_by_libseccomp(plan, supervisor);
}

}  // namespace

Expected<void> check_syscall_names(const Policy::Syscalls& syscalls) {
  TRY_VOID(check_names(syscalls.allow, "syscalls.allow"));
  return check_names(syscalls.deny, "syscalls.deny");
}

Expected<SeccompProgram> compile_seccomp(const SeccompPlan& plan, pid_t supervisor) {
  TRY_VOID(check_syscall_names({plan.base, plan.allow, plan.deny}));
  auto [guard, allow_list] = TRY(filters_for(plan, supervisor));
  SeccompProgram program{.guard = std::move(guard), .allow_list = {}, .fallback = {}, .listener = plan.listener};
  if (plan.listener) {
    program.allow_list = with_listener(allow_list, plan);
    program.fallback = with_errnos(allow_list, plan);
  } else {
    program.allow_list = with_errnos(allow_list, plan);
  }
  return program;
}

}  // namespace podjail
