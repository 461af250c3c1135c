#pragma once
#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <set>
#include <span>

#include "sys/fd.h"
#include "sys/proc_read.h"

namespace podjail {

/// The run's files in /dev/shm: what sem_open(3) and shm_open(3) make there, and what else. They hold memory without being mapped, and
/// outlive the tree. A file is the run's where it was not there before it, belongs to this user, and its maker said so
/// (wire::kClaimSharedMemory) or a process of the run had it open or mapped when one looked. What others make there meanwhile is left
/// alone: the containers of a pod share one /dev/shm.
class SharedMemory {
 public:
  /// Notes what is there already. Where the run can't reach /dev/shm, or there is none, it does nothing ever.
  explicit SharedMemory(bool reachable);

  /// The caller's descriptor, for what the maker says.
  void claim(pid_t process, int fd);

  /// Whether anything was made or removed since the last look: one stat(2).
  [[nodiscard]] bool changed() const;

  /// Finds what the living processes of the run hold.
  void look(std::span<const pid_t> members);

  /// Bytes in memory of the run's files that still have a name, and of what the kernel keeps for each.
  [[nodiscard]] std::uint64_t bytes() const;

  /// Once the tree is dead: removes them. Returns how many.
  std::uint64_t remove();

 private:
  template <class Use>
  void for_each_new(Use use) const;
  void note(const OpenFile& file);

  Fd folder_;
  dev_t device_ = 0;
  timespec seen_{};
  std::set<ino_t> before_, own_;
};

}  // namespace podjail
