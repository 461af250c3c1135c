#include "isolation/seccomp_program.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>

#include "isolation/syscall_groups.h"
#include "sys/fd.h"

// The kernel takes the most restrictive answer of all filters, and an errno is more restrictive than a notification. So what the supervisor
// is to see and record must be refused by the allow-list alone: the guard filter has no rule for a call that is conditional in the
// allow-list, except for calls that policy.syscalls.allow opens, clone3 (its flags are behind a pointer) and foreign ABIs. Nothing helps
// where the policy opens a call that takes a pidfd (pidfd_send_signal, pidfd_getfd): what it stands for is in no register.
//
// Conditions are positive (MASKED_EQ): libseccomp 2.5.4 silently drops a deny that lies next to an unconditional allow of the same call,
// and refuses two NE on one argument.
namespace podjail {
namespace {

using Context = std::unique_ptr<void, decltype(&seccomp_release)>;

// Stands for "not allowed" in the program that libseccomp makes, which then gets a notification or the errnos in its place. No rule uses
// 4094, the last that libseccomp takes.
constexpr std::uint32_t kNotAllowed = SCMP_ACT_ERRNO(4094);

constexpr bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Expected<Context> new_filter(std::uint32_t default_action) {
  Context context(seccomp_init(default_action), &seccomp_release);
  if (!context) return fail("libseccomp: seccomp_init", ENOMEM);
  // i386 and x32 calls of the same numbers mean other things; a process that makes one is killed.
  int err = seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  if (err == 0) err = seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);  // binary tree
  if (err != 0) return fail("libseccomp: seccomp_attr_set", -err);
  return context;
}

Expected<void> add_rule(const Context& context, std::uint32_t action, const std::string& name, const CallRule& rule = {}) {
  const int number = syscall_number(name);
  if (number < 0) return {};  // a group's member that this ABI lacks
  std::vector<scmp_arg_cmp> matches;
  matches.reserve(rule.size());
  for (const ArgMatch& match : rule) matches.push_back({match.index, SCMP_CMP_MASKED_EQ, match.mask, match.value});
  const int err = seccomp_rule_add_exact_array(context.get(), action, number, static_cast<unsigned>(matches.size()), matches.data());
  if (err != 0 && err != -EEXIST) return fail("libseccomp: add a rule for", -err, name);
  return {};
}

Expected<std::vector<sock_filter>> export_program(const Context& context) {
  const Fd file(::memfd_create("seccomp", MFD_CLOEXEC));  // 2.5.4 exports to a descriptor only
  if (!file.valid()) return fail("memfd_create for the seccomp program", errno);
  if (const int err = seccomp_export_bpf(context.get(), file.get()); err != 0) return fail("libseccomp: seccomp_export_bpf", -err);
  const off_t bytes = ::lseek(file.get(), 0, SEEK_END);
  if (bytes <= 0) return fail("libseccomp: an empty program");
  std::vector<sock_filter> program(static_cast<std::size_t>(bytes) / sizeof(sock_filter));
  if (::pread(file.get(), program.data(), program.size() * sizeof(sock_filter), 0) != bytes) return fail("read the seccomp program", errno);
  return program;
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

// clone, fork and vfork get no rule: the supervisor counts and answers each of them, or `decide_tasks` does.
constexpr bool makes_task(std::string_view name) {
  return name == "clone" || name == "fork" || name == "vfork";
}

Expected<std::vector<sock_filter>> compile_allow_list(const SeccompPlan& plan) {
  const Context context = TRY(new_filter(kNotAllowed));
  const Bases base = plan.base == Policy::SyscallBase::python ? in_python : in_exec;
  const auto opened = [&](std::string_view name) { return contains(plan.allow, name); };
  const auto denied = [&](std::string_view name) { return contains(plan.deny, name) || makes_task(name) || name == "clone3"; };
  for (const SyscallGroup& group : syscall_groups()) {
    if ((group.bases & base) == 0) continue;
    for (const char* name : group.members) {
      if (!denied(name)) TRY_VOID(add_rule(context, SCMP_ACT_ALLOW, name));
    }
  }
  for (const RestrictedCall& call : restricted_calls()) {
    if (denied(call.name) || opened(call.name)) continue;
    for (const CallRule& rule : call.allowed(plan)) TRY_VOID(add_rule(context, SCMP_ACT_ALLOW, call.name, rule));
  }
  // In both filters: of two errnos the kernel takes that of the filter loaded last, and libcs fall back to clone only on ENOSYS.
  TRY_VOID(add_rule(context, SCMP_ACT_ERRNO(ENOSYS), "clone3"));
  for (const std::string& name : plan.allow) {
    if (!denied(name)) TRY_VOID(add_rule(context, SCMP_ACT_ALLOW, name));
  }
  return export_program(context);
}

Expected<std::vector<sock_filter>> compile_guard(const SeccompPlan& plan, pid_t supervisor) {
  const Context context = TRY(new_filter(SCMP_ACT_ALLOW));
  TRY_VOID(add_rule(context, SCMP_ACT_ERRNO(ENOSYS), "clone3"));
  for (const RestrictedCall& call : restricted_calls()) {
    if (call.guarded == nullptr || !contains(plan.allow, call.name)) continue;
    for (const CallRule& rule : call.guarded(supervisor)) TRY_VOID(add_rule(context, SCMP_ACT_ERRNO(EPERM), call.name, rule));
  }
  return export_program(context);
}

// Replaces every "not allowed" by a jump to `decision`, appended.
void decide_at_the_end(std::vector<sock_filter>& program, std::span<const sock_filter> decision) {
  const std::size_t start = program.size();
  for (std::size_t i = 0; i < start; ++i) {
    if (program[i].code == (BPF_RET | BPF_K) && program[i].k == kNotAllowed) {
      program[i] = BPF_STMT(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(start - i - 1));
    }
  }
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
  decide_at_the_end(program, decision);
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
  decide_at_the_end(program, decision);
  return program;
}

}  // namespace

Expected<void> check_syscall_names(const Policy::Syscalls& syscalls) {
  TRY_VOID(check_names(syscalls.allow, "syscalls.allow"));
  return check_names(syscalls.deny, "syscalls.deny");
}

Expected<SeccompProgram> compile_seccomp(const SeccompPlan& plan, pid_t supervisor) {
  TRY_VOID(check_syscall_names({plan.base, plan.allow, plan.deny}));
  SeccompProgram program{.guard = TRY(compile_guard(plan, supervisor)), .allow_list = {}, .fallback = {}, .listener = plan.listener};
  const std::vector<sock_filter> allow_list = TRY(compile_allow_list(plan));
  if (plan.listener) {
    program.allow_list = with_listener(allow_list, plan);
    program.fallback = with_errnos(allow_list, plan);
  } else {
    program.allow_list = with_errnos(allow_list, plan);
  }
  return program;
}

}  // namespace podjail
