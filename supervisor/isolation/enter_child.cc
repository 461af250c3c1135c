#include "isolation/enter_child.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sys/landlock.h"

namespace podjail {
namespace {

ChildError failed(const char* layer, const char* step) noexcept {
  return {errno, step, layer};
}

// capset(2) and prctl(2) themselves: libcap-ng keeps static state and reads /proc, which is no place to be after fork.
ChildError empty_capabilities() noexcept {
  // No step of a UID to 0 or an exec by 0 gives capabilities back (needs CAP_SETPCAP; without it no_new_privs alone sees to that).
  constexpr unsigned long kBits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
                                  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (::prctl(PR_SET_SECUREBITS, kBits, 0, 0, 0) != 0 && errno != EPERM) return failed("capabilities", "set the secure bits");
  for (unsigned long capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {  // EINVAL beyond the kernel's last
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM)
      return failed("capabilities", "empty the capability bounding set");
  }
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL)
    return failed("capabilities", "clear the ambient capabilities");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return failed("capabilities", "empty the capability sets");
  return {};
}

ChildError set_limits(const RlimitPlan* limits, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const auto resource = static_cast<__rlimit_resource>(limits[i].resource);
    rlimit inherited{};
    if (::getrlimit(resource, &inherited) != 0) return failed("rlimits", "read a resource limit");
    const rlim_t hard = std::min<rlim_t>(limits[i].hard, inherited.rlim_max);  // raising needs CAP_SYS_RESOURCE
    const rlimit wanted{std::min<rlim_t>(limits[i].soft, hard), hard};
    if (::setrlimit(resource, &wanted) != 0) return failed("rlimits", "set a resource limit");
  }
  return {};
}

ChildError restrict_by_landlock(int ruleset, bool own_proc) noexcept {
  if (own_proc) {
    const int folder = ::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {  // no /proc: nothing to grant
      const landlock::PathBeneathAttr rule{landlock::kReadFile | landlock::kReadDir, folder};
      if (landlock::add_path(ruleset, rule) != 0) return failed("landlock.filesystem", "add the Landlock rule for /proc/self");
      ::close(folder);
    }
  }
  if (landlock::restrict_self(ruleset) != 0) return failed("landlock.filesystem", "restrict by Landlock");
  return {};
}

}  // namespace

ChildError enter_jail(const EnterArgs& args) noexcept {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("no_new_privs", "set no_new_privs");
  if (const ChildError error = empty_capabilities(); error.err != 0) return error;
  if (const ChildError error = set_limits(args.rlimits, args.rlimit_count); error.err != 0) return error;
  if (args.landlock_ruleset >= 0) return restrict_by_landlock(args.landlock_ruleset, args.own_proc);
  return {};
}

}  // namespace podjail
