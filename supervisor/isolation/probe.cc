#include "isolation/probe.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sys/landlock.h"
#include "sys/proc_read.h"
#include "sys/seccomp_notify.h"

namespace podjail {
namespace {

Offer missing(int err, std::string reason) {
  return {.available = false, .err = err, .reason = std::move(reason)};
}

Offer landlock_offer(int err) {
  switch (err) {
    case 0:
      return {.available = true};
    case ENOSYS:
      return missing(err, "Landlock is not built into this kernel, or the pod's seccomp profile hides it");
    case EOPNOTSUPP:
      return missing(err, "Landlock is off at boot (lsm=)");
    case EPERM:
      return missing(err, "the pod's seccomp profile filters Landlock");
    default:
      return missing(err, std::string("Landlock answers ") + std::strerror(err));
  }
}

Offer seccomp_offer(int err) {
  switch (err) {
    case 0:
      return {.available = true};
    case ENOSYS:
      return missing(err, "seccomp filters are not built into this kernel, or the pod's seccomp profile hides them");
    case EINVAL:
    case EOPNOTSUPP:
      return missing(err, "this kernel's seccomp lacks the action");
    case EBUSY:
      return missing(err, "another seccomp listener is in the pod's process tree");
    case EPERM:
      return missing(err, "the pod's seccomp profile filters seccomp(2)");
    default:
      return missing(err, std::string("seccomp answers ") + std::strerror(err));
  }
}

int affinity_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  return std::max(1, CPU_COUNT(&set));
}

// The errno that `attempt` leaves, tried in a forked child.
int errno_in_child(int (*attempt)()) {
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) ::_exit(attempt() < 0 ? errno : 0);  // every errno is below 256
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return errno;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;  // killed by the pod's profile
}

int try_listener() {
  const sock_filter allow_all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return seccomp_set_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER, allow_all, std::size(allow_all));
}

int try_user_namespace() {
  return ::unshare(CLONE_NEWUSER);
}

Offer user_namespace_offer(int err) {
  switch (err) {
    case 0:
      return {.available = true};
    case EPERM:
      return missing(err, "user namespaces are refused (the pod's seccomp profile, AppArmor, or kernel.unprivileged_userns_clone)");
    case ENOSPC:
      return missing(err, "user.max_user_namespaces is exhausted or 0");
    default:
      return missing(err, std::string("unshare(CLONE_NEWUSER): ") + std::strerror(err));
  }
}

}  // namespace

PodFacts probe_pod(int max_landlock_abi) {
  PodFacts facts;
  if (utsname about{}; ::uname(&about) == 0) facts.kernel = about.release;
  facts.supervisor_pid = ::getpid();
  facts.uid = ::geteuid();
  facts.gid = ::getegid();
  facts.cpus = affinity_cpus();
  if (const auto status = read_proc_status(facts.supervisor_pid)) {
    facts.seccomp_filters = status->seccomp_filters;
    facts.no_new_privs = status->no_new_privs;
    facts.cap_effective = status->cap_effective;
    facts.cap_bounding = status->cap_bounding;
  }
  const int abi = landlock::abi_version();
  facts.landlock = landlock_offer(abi > 0 ? 0 : errno);
  facts.landlock_abi = abi > 0 ? std::min(abi, max_landlock_abi) : 0;
  if (abi > 0 && facts.landlock_abi < 1) facts.landlock = missing(0, "Landlock is switched off for this run");
  facts.seccomp = seccomp_offer(seccomp_action_available(SECCOMP_RET_KILL_PROCESS));
  facts.seccomp_notify = seccomp_offer(seccomp_action_available(SECCOMP_RET_USER_NOTIF));
  facts.user_namespaces = missing(0, "not tried");
  return facts;
}

void probe_by_trying(PodFacts& facts) {
  if (facts.seccomp_notify.available) facts.seccomp_notify = seccomp_offer(errno_in_child(try_listener));
  facts.user_namespaces = user_namespace_offer(errno_in_child(try_user_namespace));
}

}  // namespace podjail
