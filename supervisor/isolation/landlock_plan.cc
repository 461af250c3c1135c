#include "isolation/landlock_plan.h"

#include "sys/landlock_abi.h"

namespace podjail {
namespace {

using namespace landlock;

constexpr std::uint64_t kRead = kReadFile | kReadDir;
// Everything but executing, devices and sockets.
constexpr std::uint64_t kWrite =
    kRead | kWriteFile | kTruncate | kRemoveFile | kRemoveDir | kMakeReg | kMakeDir | kMakeSym | kMakeFifo | kRefer;
constexpr std::uint64_t kSharedMemory = kReadFile | kWriteFile | kTruncate | kRemoveFile | kMakeReg;
constexpr std::uint64_t kRun = kExecute | kReadFile;  // execve(2) opens the file for reading, too

// The ELF interpreters of glibc and musl: the kernel opens them with the right to execute when it starts a dynamic program.
constexpr const char* kInterpreters[] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"};

// What libc, CPython, OpenBLAS, OpenMP, jemalloc and joblib read to size themselves. Not /proc itself: reads of other processes' status,
// cmdline and mountinfo would stay open to the same UID.
constexpr const char* kSystemFiles[] = {
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/uptime",
    "/proc/version",
    "/proc/sys/kernel/cap_last_cap",
    "/proc/sys/kernel/ngroups_max",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/ostype",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/kernel/random/uuid",
    "/proc/sys/kernel/threads-max",
    "/proc/sys/kernel/version",
    "/proc/sys/vm/max_map_count",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/sys/fs/cgroup/cpu.max",
    "/sys/fs/cgroup/cpu/cpu.cfs_period_us",
    "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    "/sys/kernel/mm/transparent_hugepage",
};

// What CPython itself needs, whatever the policy reads: its library, the C libraries of its extension modules, time zones. Debian links its
// sitecustomize.py into /etc/pythonX.Y.
constexpr const char* kPythonRuntime[] = {"/usr/lib",         "/lib",          "/lib64", "/usr/local/lib", "/usr/share/zoneinfo",
                                          "/etc/ld.so.cache", "/etc/localtime"};

bool many_processes(const Policy& policy) {
  return policy.limits.processes != 1U;
}

void add(LandlockPlan& plan, std::string path, std::uint64_t access, bool optional) {
  access &= plan.handled_fs;  // what an older ABI doesn't know
  if (!path.empty() && access != 0) plan.paths.push_back({std::move(path), access, optional});
}

}  // namespace

void plan_landlock_filesystem(const LayerInput& input, Plan& plan, LayerPlan& line) {
  const auto& [policy, facts, paths] = input;
  LandlockPlan& landlock = plan.landlock;
  landlock.on = true;
  landlock.own_proc = true;
  landlock.handled_fs = fs_rights(facts.landlock_abi);
  line.mechanism = "Landlock ABI " + std::to_string(facts.landlock_abi);

  constexpr bool kOptional = true;  // the policy's paths: images differ, and what isn't there grants nothing
  for (const auto& path : policy.filesystem.read) add(landlock, path, kRead, kOptional);
  for (const auto& path : policy.filesystem.write) add(landlock, path, kWrite, kOptional);
  for (const auto& path : policy.filesystem.execute) add(landlock, path, kRun | kReadDir, kOptional);
  if (!paths.python_executable.empty()) {
    for (const char* path : kPythonRuntime) add(landlock, path, kRead, kOptional);
    add(landlock, "/etc/" + paths.python_executable.substr(paths.python_executable.rfind('/') + 1), kRead, kOptional);
    add(landlock, paths.python_executable, many_processes(policy) ? kRun : kReadFile, kOptional);  // multiprocessing's spawn executes it
  }
  for (const char* path : kSystemFiles) add(landlock, path, kRead, kOptional);

  // On /dev/null, zero and full an ioctl answers as without Landlock (isatty(3) says ENOTTY, not EACCES).
  add(landlock, "/dev/null", kReadFile | kWriteFile | kTruncate | kIoctlDev, kOptional);
  add(landlock, "/dev/zero", kReadFile | kIoctlDev, kOptional);
  add(landlock, "/dev/full", kReadFile | kWriteFile | kIoctlDev, kOptional);
  add(landlock, "/dev/random", kReadFile, kOptional);
  add(landlock, "/dev/urandom", kReadFile, kOptional);
  // sem_open(3) and shm_open(3), which locks and pools of threads need as well. Not to be listed: what others have there has names that
  // can't be guessed (multiprocessing's are random).
  if (policy.limits.processes != 1U || policy.limits.threads != 1U) add(landlock, "/dev/shm", kSharedMemory, kOptional);

  // Pseudo terminals of the run's own: not /dev/pts, where others of the same user may have theirs (the supervisor opens the other end).
  // /dev/tty is a process's controlling terminal, and no session of the run can have another than one of these.
  const bool programs = policy.syscalls.base == Policy::SyscallBase::exec;
  if (programs) {
    for (const char* path : {"/dev/ptmx", "/dev/tty"}) add(landlock, path, kReadFile | kWriteFile | kIoctlDev, kOptional);
  }

  const bool executes = !paths.runner.empty() || many_processes(policy) || !policy.filesystem.execute.empty();
  if (executes) {
    for (const char* path : kInterpreters) add(landlock, path, kRun, kOptional);
  }
  add(landlock, paths.runner, kRun, !kOptional);
  // What the work folder and the input hold can be executed: sh FILE and a memfd can be in any case.
  const std::uint64_t execute = programs ? kExecute : 0;
  std::uint64_t scratch = kWrite | execute;
  // Unix sockets, where Landlock keeps them within the run.
  if (programs && (landlock.handled_fs & kResolveUnix) != 0) scratch |= kMakeSock;
  add(landlock, paths.scratch, scratch, !kOptional);
  add(landlock, paths.script_dir, kRead | execute, !kOptional);
  add(landlock, paths.input_dir, paths.input_entries.empty() ? kRead | execute : kReadDir, !kOptional);
  // Whoever wrote the input may have made one a link to anywhere.
  for (const std::string& entry : paths.input_entries) {
    landlock.paths.push_back({entry, (kRead | execute) & landlock.handled_fs, kOptional, false});
  }
}

void plan_landlock_network(const LayerInput& input, Plan& plan, LayerPlan& line) {
  LandlockPlan& landlock = plan.landlock;
  landlock.handled_net = net_rights(input.facts.landlock_abi);
  for (const std::uint16_t port : input.policy.network.connect_tcp) landlock.ports.push_back({port, kConnectTcp});
  for (const std::uint16_t port : input.policy.network.bind_tcp) landlock.ports.push_back({port, kBindTcp});
  line.mechanism = "Landlock ABI " + std::to_string(input.facts.landlock_abi) + ", TCP bind and connect";
}

void plan_landlock_scopes(const LayerInput& input, Plan& plan, LayerPlan& line) {
  plan.landlock.scoped = scopes(input.facts.landlock_abi);
  line.mechanism = "Landlock ABI " + std::to_string(input.facts.landlock_abi) + ", signals and abstract sockets";
}

}  // namespace podjail
