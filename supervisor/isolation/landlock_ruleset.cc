#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "isolation/enter_child.h"
#include "sys/landlock.h"

namespace podjail {
namespace {

// What an optional path may lack: the entry, or our own right to reach it (the jail, of the same UID, could not reach it either).
bool is_absent(int err) {
  return err == ENOENT || err == ENOTDIR || err == EACCES || err == ELOOP || err == ENXIO;
}

Expected<void> add_path(int ruleset, const LandlockPath& rule) {
  const Fd file(::open(rule.path.c_str(), O_PATH | O_CLOEXEC | (rule.follow ? 0 : O_NOFOLLOW)));
  if (!file.valid()) {
    if (rule.optional && is_absent(errno)) return {};
    return fail("Landlock rule: open", errno, rule.path);
  }
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return fail("Landlock rule: stat", errno, rule.path);
  if (S_ISLNK(about.st_mode)) return {};
  const std::uint64_t access = S_ISDIR(about.st_mode) ? rule.access : rule.access & landlock::kFileRights;
  if (access == 0) return {};  // the kernel refuses an empty rule
  if (landlock::add_path(ruleset, {access, file.get()}) == 0) return {};
  // Pipes, sockets and anonymous files of the kernel's own can't carry a rule and need none.
  if (errno == EBADFD && rule.optional) return {};
  return fail("Landlock rule: add", errno, rule.path);
}

}  // namespace

Expected<Fd> make_landlock_ruleset(const LandlockPlan& plan) {
  Fd ruleset(landlock::create_ruleset({plan.handled_fs, plan.handled_net, plan.scoped}));
  if (!ruleset.valid()) return fail("landlock_create_ruleset", errno);
  for (const LandlockPath& rule : plan.paths) TRY_VOID(add_path(ruleset.get(), rule));
  for (const LandlockPort& rule : plan.ports) {
    if (landlock::add_port(ruleset.get(), {rule.access, rule.port}) != 0) {
      return fail("Landlock rule: TCP port", errno, std::to_string(rule.port));
    }
  }
  return ruleset;
}

}  // namespace podjail
