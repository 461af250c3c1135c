#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace podjail {

/// One kernel facility as this process finds it.
struct Offer {
  bool available = false;
  int err = 0;  ///< errno of the probing call where it is not available
  std::string
      reason;  ///< why not, for a person: "not built into this kernel", "off at boot (lsm=)", "filtered by the pod's seccomp profile"
};

/// What this pod (or laptop) gives, as a plain value: made by isolation/probe.h alone, faked in unit tests. A harmless call decides, never
/// a version.
struct PodFacts {
  std::string kernel;  ///< uname -r
  pid_t supervisor_pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  int cpus = 1;               ///< of the affinity mask
  int seccomp_filters = 0;    ///< Seccomp_filters of /proc/self/status: the pod's own
  bool no_new_privs = false;  ///< already set on the supervisor
  std::uint64_t cap_effective = 0, cap_bounding = 0;
  int landlock_abi = 0;  ///< 0: none
  Offer landlock, seccomp, seccomp_notify, user_namespaces;
};

}  // namespace podjail
