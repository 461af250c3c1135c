#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "isolation/pod_facts.h"
#include "policy/policy.h"

namespace podjail {

/// The paths that the run itself needs beside what the policy lists; absolute. Empty: there is none.
struct RunPaths {
  std::string runner;             ///< podjail-pythonX.Y, or the command of `exec`: read + execute
  std::string python_executable;  ///< the real python3 of the image (execute only where more than one process is allowed)
  std::string scratch;            ///< the run's own writable folder (work folder, TMPDIR, HOME)
  std::string script_dir;         ///< holds the script's read-only copy, beside the work folder
  std::string input_dir;          ///< --input, read-only
  /// Where the result folder lies within --input: the entries of it that are readable; input_dir itself can then only be listed.
  std::vector<std::string> input_entries;
  bool command = false;  ///< `exec`: `runner` is the command itself, so one execve must be allowed whatever the base says
};

struct RlimitPlan {
  int resource = 0;  ///< RLIMIT_*
  std::uint64_t soft = 0, hard = 0;
};

/// One LANDLOCK_RULE_PATH_BENEATH. A path that does not exist is skipped when `optional`, else an error.
struct LandlockPath {
  std::string path;
  std::uint64_t access = 0;  ///< LANDLOCK_ACCESS_FS_*
  bool optional = false;
  bool follow = true;  ///< false: of what an attacker may have named; a link gets no rule
};

struct LandlockPort {
  std::uint16_t port = 0;
  std::uint64_t access = 0;  ///< LANDLOCK_ACCESS_NET_*
};

struct LandlockPlan {
  bool on = false;
  std::uint64_t handled_fs = 0, handled_net = 0, scoped = 0;
  std::vector<LandlockPath> paths;
  std::vector<LandlockPort> ports;
  bool own_proc = false;  ///< add read access to the child's own /proc/PID
};

struct SeccompPlan {
  bool on = false;
  Policy::SyscallBase base = Policy::SyscallBase::python;
  std::vector<std::string> allow, deny;  ///< appended to the base
  bool listener = false;                 ///< denied calls and clones come to the supervisor by user notification
  bool count_tasks = false;              ///< clone, fork and vfork come to the listener, too; otherwise the watcher counts what lives
  bool processes = false;                ///< more than one process: fork and execve are not denied outright
  bool execute = false;                  ///< execve is allowed (Landlock decides of what)
  bool tcp = false;                      ///< the policy lists a TCP port: socket(AF_INET/AF_INET6, SOCK_STREAM) is allowed
  bool tcp_listen = false;               ///< the policy lists a port to bind: listen and accept are allowed
  bool unix_sockets = false;             ///< under `exec`, where Landlock keeps them within the run (ABI 9): socket(AF_UNIX)
};

/// One line of the result's isolation.layers, as planned; see layer.h for the names.
struct LayerPlan {
  std::string layer;
  bool required = false;  ///< in isolation.require
  bool planned = false;   ///< will be applied, and verified
  std::string mechanism;  ///< "Landlock ABI 7", "seccomp-bpf, 2 filters"
  std::string reason;     ///< why it is not planned; empty where it is
  std::string enable;     ///< what would enable it: the exact pod-spec line, or empty
};

/// Policy x PodFacts: what the child carries out and what `podjail explain` prints.
struct Plan {
  std::string tier;  ///< "T0", "T1", "T2"
  std::vector<LayerPlan> layers;
  std::vector<RlimitPlan> rlimits;
  LandlockPlan landlock;
  SeccompPlan seccomp;
};

/// Pure: no system call. Never fails for a missing layer (that is `missing_requirement`'s to say), so that `explain` can print it.
Plan make_plan(const Policy& policy, const PodFacts& facts, const RunPaths& paths);

/// The first layer that `isolation.require` names and the plan lacks, as an Error whose step is the whole sentence and whose subject is the
/// layer; an unknown name is one too.
Expected<void> missing_requirement(const Plan& plan, const Policy& policy);

}  // namespace podjail
