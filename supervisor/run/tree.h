#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "sys/process.h"

namespace podjail {

/// The jailed processes: everything below the supervisor, which is PID 1 or a child subreaper, so that nothing gets away by a double fork
/// or setsid.
class Tree {
 public:
  /// `single`: the jail denies fork, so the root is all there can be and /proc need not be searched.
  Tree(pid_t root, bool single) : root_(root), single_(single) {}

  [[nodiscard]] bool contains(pid_t id) const;      ///< a PID or a TID of it
  [[nodiscard]] bool has_group(pid_t group) const;  ///< a process group with a member in it; its leader may have ended
  struct Count {
    std::uint64_t processes = 0, threads = 0;
    std::uint64_t private_memory = 0;  ///< bytes: anonymous, swapped, page tables
    std::uint64_t shared_memory = 0;   ///< bytes of shmem, counted for each process that maps it
    double cpu = 0;                    ///< seconds, living processes and the children they waited for
  };
  [[nodiscard]] Count count() const;  ///< the living; zombies are not counted

  /// Bytes of shared memory without a name in /dev/shm, each counted once; slow (parse_shared_pss).
  [[nodiscard]] std::uint64_t shared_memory_once() const;
  [[nodiscard]] std::vector<pid_t> members() const;  ///< zombies too

  /// SIGKILL to everything; how many processes got their first. Repeat until `empty()`: a fork may slip in between.
  std::uint64_t kill_all();

  /// Takes the dead, for at most 20 ms a call. Returns the root's end when it is among them.
  std::optional<Reaped> reap();
  [[nodiscard]] bool more_to_reap() const { return more_; }
  [[nodiscard]] bool empty() const { return none_left_; }
  [[nodiscard]] double reaped_user() const { return user_; }
  [[nodiscard]] double reaped_system() const { return system_; }
  [[nodiscard]] std::uint64_t peak_rss() const { return peak_rss_; }  ///< of the largest reaped process, bytes

 private:
  pid_t root_;
  bool single_, none_left_ = false, more_ = false;
  double user_ = 0, system_ = 0;
  std::uint64_t peak_rss_ = 0;
  std::set<pid_t> killed_;
};

}  // namespace podjail
