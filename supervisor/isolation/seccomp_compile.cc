#include "isolation/seccomp_compile.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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

static_assert(kNotAllowed == SCMP_ACT_ERRNO(4094));

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

}  // namespace

Expected<CompiledFilters> compile_by_libseccomp(const SeccompPlan& plan, pid_t supervisor) {
  return CompiledFilters{TRY(compile_guard(plan, supervisor)), TRY(compile_allow_list(plan))};
}

}  // namespace podjail
