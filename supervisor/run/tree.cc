#include "run/tree.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "sys/clock.h"
#include "sys/proc_read.h"

namespace podjail {
namespace {

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

}  // namespace

std::vector<pid_t> Tree::members() const {
  if (single_) return none_left_ ? std::vector<pid_t>{} : std::vector<pid_t>{root_};
  return descendants(::getpid());
}

bool Tree::contains(pid_t id) const {
  const pid_t supervisor = ::getpid();
  constexpr int kMaxDepth =
      4096;  // more generations than pids a pod has; a chain can't have a loop, but the numbers are read one after the other
  for (int depth = 0; depth < kMaxDepth && id > 1; ++depth) {
    const auto status = read_proc_status(id);
    if (!status || status->tgid == supervisor) return false;
    if (status->tgid == root_ || status->ppid == supervisor) return true;
    id = status->ppid;
  }
  return false;
}

bool Tree::has_group(pid_t group) const {
  return std::ranges::any_of(members(), [group](pid_t pid) { return ::getpgid(pid) == group; });
}

Tree::Count Tree::count() const {
  Count total;
  for (const pid_t pid : members()) {
    auto status = read_proc_status(pid);
    if (!status || status->state == 'X') continue;
    const int threads = status->threads;
    if (status->state == 'Z') {
      // The main thread alone may have ended (exit(2), not exit_group(2)): the others have the memory, and it is theirs to show.
      if (threads <= 1) continue;
      for (const pid_t thread : thread_ids(pid)) {
        if (auto living = read_proc_status(thread); living && living->state != 'Z' && living->state != 'X') {
          status = living;
          break;
        }
      }
    }
    ++total.processes;
    total.threads += static_cast<std::uint64_t>(threads);
    total.private_memory += status->rss_anon + status->vm_swap + status->vm_pte;
    total.shared_memory += status->rss_shmem;
    if (const auto cpu = read_cpu_times(pid)) total.cpu += static_cast<double>(cpu->user_ns + cpu->system_ns) / 1e9;
  }
  return total;
}

std::uint64_t Tree::shared_memory_once() const {
  std::uint64_t total = 0;
  for (const pid_t pid : members()) {
    if (const auto smaps = read_proc_file("/proc/" + std::to_string(pid) + "/smaps")) total += parse_shared_pss(*smaps);
  }
  return total;
}

std::uint64_t Tree::kill_all() {
  // A bomb forks while the list is read, so go on at once, but let the loop have its turn.
  const auto until = Monotonic::now() + std::chrono::milliseconds(20);
  std::uint64_t fresh = 0;
  // Both at one blow, under the kernel's own lock, so that no fork slips in between: as PID 1 everybody but us is the tree's, else at least
  // what stayed in the root's process group.
  if (!none_left_) (void)::kill(::getpid() == 1 ? -1 : -root_, SIGKILL);
  while (Monotonic::now() < until) {
    const std::vector<pid_t> list = members();
    const std::set<pid_t> known(list.begin(), list.end());
    std::uint64_t found = 0;
    for (const pid_t pid : list) {
      if (Monotonic::now() >= until) break;
      const auto pidfd = open_pidfd(pid);
      // The number may have been given anew between the list and the pidfd: what the pidfd holds must still have its parent in the tree.
      const auto status = read_proc_status(pid);
      if (!pidfd || !status || status->state == 'Z' || (status->ppid != ::getpid() && !known.contains(status->ppid))) continue;
      if (!signal_pidfd(pidfd->get(), SIGKILL)) continue;
      if (killed_.insert(pid).second) ++found;
    }
    fresh += found;
    if (found == 0 || single_) break;
  }
  return fresh;
}

std::optional<Reaped> Tree::reap() {
  // Processes that fork and die can keep a reaper busy for ever.
  const auto until = Monotonic::now() + std::chrono::milliseconds(20);
  std::optional<Reaped> root_end;
  more_ = true;
  while (Monotonic::now() < until) {
    const auto reaped = reap_one(none_left_);
    if (!reaped) {
      more_ = false;
      break;
    }
    user_ += seconds(reaped->usage.ru_utime);
    system_ += seconds(reaped->usage.ru_stime);
    peak_rss_ = std::max(peak_rss_, static_cast<std::uint64_t>(reaped->usage.ru_maxrss) * 1024);
    killed_.erase(reaped->pid);  // its number may come again
    if (reaped->pid == root_) root_end = *reaped;
  }
  return root_end;
}

}  // namespace podjail
