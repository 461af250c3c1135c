#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"

namespace podjail {

/// What is mounted where, by the text of /proc/self/mountinfo alone: stat(2) gives the files of btrfs and overlayfs other devices.
class Mounts {
 public:
  /// Errors: a line that is none, as the mount that is overlooked could be the one that matters; no mount at "/", as in a chroot into a
  /// plain folder, where the mount that holds most paths isn't listed.
  static Expected<Mounts> parse(std::string_view mountinfo);

  /// Whether a Landlock rule for `root` reaches `path`, by whatever mounts the two are named: it covers that part of the file system, and
  /// all of every mount on it. Both are canonical. The mount point by which it does; nothing where they are apart.
  [[nodiscard]] std::optional<std::string> find_within(std::string_view root, std::string_view path) const;

 private:
  struct Mount {
    int id = 0, parent = 0;
    std::string device;  // "major:minor"
    std::string root;    // what of its file system is mounted
    std::string point;
  };
  struct Part {  // a file or folder and all beneath it
    std::string device, path;
    std::string point;  // of the mount that it was found by
  };

  static std::optional<Mount> parse_line(std::string_view line);
  static Part part_at(const Mount& mount, std::string_view path);
  static bool is_within(const Part& outer, const Part& inner);
  [[nodiscard]] const Mount* parent(const Mount& mount) const;
  [[nodiscard]] Part find(std::string_view path) const;

  std::vector<Mount> mounts_;
  std::unordered_map<int, std::size_t> by_id_;
  std::size_t root_ = 0;
};

}  // namespace podjail
