#pragma once
#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <set>
#include <span>

#include "sys/fd.h"

namespace podjail {

/// The run's files in /dev/shm: what sem_open(3) and shm_open(3) make there, and what else. They hold memory without being mapped, and
/// outlive the tree. A file is the run's where it was not there before it, belongs to this user, and
///   - podjail is PID 1: the container holds nothing else; or
///   - its maker said so (wire::kClaimSharedMemory), or a process of the run had it open or mapped when one looked.
/// What other programs of the same user make there meanwhile is left alone.
class SharedMemory {
 public:
  /// Notes what is there already. Without a /dev/shm it does nothing ever.
  SharedMemory();

  /// The caller's descriptor, for what the maker says.
  void claim(pid_t process, int fd);

  /// Whether anything was made or removed since the last look: one stat(2).
  [[nodiscard]] bool changed() const;

  /// Finds what the living processes of the run hold.
  void look(std::span<const pid_t> members);

  /// Bytes in memory of the run's files that still have a name.
  [[nodiscard]] std::uint64_t bytes() const;

  /// Once the tree is dead: removes them. Returns how many.
  std::uint64_t remove();

 private:
  template <class Use>
  void for_each_new(Use use) const;
  void note(const struct stat& about);

  Fd folder_;
  dev_t device_ = 0;
  timespec seen_{};
  std::set<ino_t> before_, own_;
  bool alone_ = false;
};

}  // namespace podjail
