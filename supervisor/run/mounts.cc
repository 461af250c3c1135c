#include "run/mounts.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace podjail {
namespace {

// By components: /data holds /data/x, and not /database.
bool holds(std::string_view folder, std::string_view path) {
  if (folder == "/") return path.starts_with('/');
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

// The kernel writes space, tab, newline and backslash as \040, \011, \012 and \134.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && text.size() - at > 3 && std::ranges::all_of(text.substr(at + 1, 3), is_octal)) {
      plain += static_cast<char>(((text[at + 1] - '0') << 6) | ((text[at + 2] - '0') << 3) | (text[at + 3] - '0'));
      at += 3;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && stop == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

Expected<Mounts> Mounts::parse(std::string_view mountinfo) {
  Mounts parsed;
  while (!mountinfo.empty()) {
    const std::size_t end = std::min(mountinfo.find('\n'), mountinfo.size());
    const std::string_view line = mountinfo.substr(0, end);
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
    auto mount = parse_line(line);
    if (!mount) return fail("mountinfo: not a mount: \"" + std::string(line) + "\"");
    parsed.by_id_.emplace(mount->id, parsed.mounts_.size());
    parsed.mounts_.push_back(*std::move(mount));
  }
  // Ours is the one whose parent lies outside.
  const auto is_root = [&](const Mount& mount) {
    return mount.point == "/" && (mount.parent == mount.id || !parsed.by_id_.contains(mount.parent));
  };
  const auto root = std::ranges::find_if(parsed.mounts_, is_root);
  if (root == parsed.mounts_.end()) return fail("mountinfo: no mount at / (a chroot?)");
  parsed.root_ = static_cast<std::size_t>(root - parsed.mounts_.begin());
  return parsed;
}

std::optional<Mounts::Mount> Mounts::parse_line(std::string_view line) {
  std::array<std::string_view, 5> fields;
  for (std::string_view& field : fields) {
    const std::size_t end = line.find(' ');
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    field = line.substr(0, end);
    line.remove_prefix(end + 1);
  }
  const auto id = number(fields[0]), parent = number(fields[1]);
  if (!id || !parent || !fields[2].contains(':') || !fields[4].starts_with('/')) return std::nullopt;
  return Mount{*id, *parent, std::string(fields[2]), unescaped(fields[3]), unescaped(fields[4])};
}

// What `path`, which lies at or beneath the mount point, is in the file system.
Mounts::Part Mounts::part_at(const Mount& mount, std::string_view path) {
  std::string inside = mount.root;
  if (holds(mount.point, path) && path != mount.point) {
    if (inside == "/") inside.clear();
    inside += path.substr(mount.point == "/" ? 0 : mount.point.size());
  }
  return {mount.device, inside, mount.point};
}

bool Mounts::is_within(const Part& outer, const Part& inner) {
  return outer.device == inner.device && holds(outer.path, inner.path);
}

const Mounts::Mount* Mounts::parent(const Mount& mount) const {
  if (&mount == &mounts_[root_]) return nullptr;
  const auto found = by_id_.find(mount.parent);
  return &mounts_[found == by_id_.end() || &mounts_[found->second] == &mount ? root_ : found->second];
}

// As the kernel walks a path: from mount to mount, the nearest mount point first. The longest mount point of all may be hidden by a later
// mount above it, and the last line need not be the latest mount (since Linux 6.8 the list is in the order of the mounts' making, and
// move_mount(2) can come later); a mount's parent tells what it lies upon.
Mounts::Part Mounts::find(std::string_view path) const {
  const Mount* current = nullptr;
  for (const Mount* next = &mounts_[root_]; next != nullptr;) {
    current = next;
    next = nullptr;
    for (const Mount& mount : mounts_) {
      if (parent(mount) != current || !holds(mount.point, path)) continue;
      if (next == nullptr || mount.point.size() <= next->point.size()) next = &mount;
    }
  }
  return part_at(*current, path);
}

std::optional<std::string> Mounts::find_within(std::string_view root, std::string_view path) const {
  const Part wanted = find(path);
  std::vector<Part> given = {find(root)};
  std::vector<bool> is_given(mounts_.size());
  for (std::size_t next = 0; next < given.size(); ++next) {
    const Part part = given[next];  // a copy, as `given` grows
    if (is_within(part, wanted)) return part.point;
    for (std::size_t at = 0; at < mounts_.size(); ++at) {
      const Mount& mount = mounts_[at];
      const Mount* const below = parent(mount);
      // By its place in the file system below it, not by name: other mounts than that of `root` may lead there.
      if (is_given[at] || below == nullptr || !is_within(part, part_at(*below, mount.point))) continue;
      is_given[at] = true;
      given.push_back({mount.device, mount.root, mount.point});
    }
  }
  return std::nullopt;
}

}  // namespace podjail
