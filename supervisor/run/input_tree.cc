#include "run/input_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/units.h"
#include "sys/dir.h"
#include "sys/files.h"

namespace podjail {
namespace {

constexpr std::size_t kMaxEntries = 1'000'000;
constexpr std::ptrdiff_t kMaxDepth = 100;  // below what the scratch watcher counts to
constexpr std::uint64_t kBlock = 4096;     // what a file of one byte takes on most file systems
constexpr const char* kAtomicWriter = "..data";

std::string below(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

class Walk {
 public:
  Walk(InputTree& tree, const std::string& hidden) : tree_(tree), hidden_(hidden) {}

  Expected<void> run() {
    struct stat about {};
    // The kubelet's atomic writer (pkg/volume/util/atomic_writer.go): NAME -> ..data/NAME, ..data -> ..TIMESTAMP.
    kubelet_ = ::fstatat(tree_.root.get(), kAtomicWriter, &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(about.st_mode);
    std::vector<std::pair<std::string, std::string>> folders{{"", ""}};  // path, source
    while (!folders.empty()) {
      const auto [path, source] = std::move(folders.back());
      folders.pop_back();
      if (std::ranges::count(path, '/') >= kMaxDepth) return fail("folders more than " + std::to_string(kMaxDepth) + " deep", 0, path);
      const std::size_t first = tree_.entries.size();
      TRY_VOID(list(path, source));
      for (std::size_t i = first; i < tree_.entries.size(); ++i) {
        const InputEntry& entry = tree_.entries[i];
        if (entry.kind == InputEntry::Kind::folder) folders.emplace_back(entry.path, entry.source);
      }
    }
    std::ranges::sort(tree_.entries, {}, &InputEntry::path);  // "a" is before "a/b"
    std::ranges::sort(tree_.top);
    return {};
  }

 private:
  Expected<void> list(const std::string& path, const std::string& source) {
    const Dir dir = read_entries(TRY(open_within(tree_.root.get(), source.empty() ? "." : source, O_RDONLY | O_DIRECTORY)));
    if (!dir) return fail("read folder", errno, path);
    while (true) {
      errno = 0;
      const dirent* const found = ::readdir(dir.get());
      if (found == nullptr) return errno == 0 ? Expected<void>{} : fail("read folder", errno, path);
      if (is_dot(found->d_name)) continue;
      const std::string name = found->d_name;
      if (path.empty()) {
        if (name == hidden_) continue;
        tree_.top.push_back(name);
        if (kubelet_ && name.starts_with("..")) continue;
      }
      if (tree_.entries.size() >= kMaxEntries) return fail("more than " + std::to_string(kMaxEntries) + " entries", 0, tree_.folder);
      add(::dirfd(dir.get()), name, {.path = below(path, name), .source = below(source, name)});
    }
  }

  void add(int folder, const std::string& name, InputEntry entry) {
    struct stat about {};
    if (::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return;  // gone meanwhile
    if (S_ISLNK(about.st_mode)) {
      char target[PATH_MAX];
      const ssize_t length = ::readlinkat(folder, name.c_str(), target, sizeof target);
      if (length < 0) return;
      entry.target.assign(target, static_cast<std::size_t>(length));
      const auto real = open_within(tree_.root.get(), entry.source, O_PATH);
      const bool inside = real && ::fstat(real->get(), &about) == 0;
      const bool through_kubelet = kubelet_ && entry.target.starts_with(std::string(kAtomicWriter) + "/");
      if (!inside || !through_kubelet) {
        entry.kind = InputEntry::Kind::link;
        entry.python = inside && S_ISREG(about.st_mode) && entry.path.ends_with(".py");
        tree_.entries.push_back(std::move(entry));
        return;
      }
    }
    const int wanted = S_ISDIR(about.st_mode) ? R_OK | X_OK : R_OK;
    const bool readable = ::faccessat(folder, name.c_str(), wanted, AT_EACCESS) == 0;
    if (S_ISDIR(about.st_mode)) {
      entry.kind = readable ? InputEntry::Kind::folder : InputEntry::Kind::foreign;
    } else if (S_ISREG(about.st_mode) && readable) {
      entry.size = static_cast<std::uint64_t>(about.st_size);
      entry.python = entry.path.ends_with(".py");
    } else {
      entry.kind = InputEntry::Kind::foreign;
      entry.python = S_ISREG(about.st_mode) && entry.path.ends_with(".py");
    }
    tree_.entries.push_back(std::move(entry));
  }

  InputTree& tree_;
  const std::string& hidden_;
  bool kubelet_ = false;
};

}  // namespace

bool InputTree::has_file(std::string_view path) const {
  const auto entry = std::ranges::lower_bound(entries, path, {}, &InputEntry::path);
  if (entry == entries.end() || entry->path != path) return false;
  return entry->kind == InputEntry::Kind::file || entry->kind == InputEntry::Kind::link;
}

Expected<InputTree> read_input_tree(const std::string& folder, const std::string& hidden) {
  InputTree tree;
  tree.folder = folder;
  tree.root = TRY(open_at(AT_FDCWD, folder, O_PATH | O_DIRECTORY));
  TRY_VOID(Walk(tree, hidden).run());
  return tree;
}

Expected<void> check_input_fits(const InputTree& tree, const Policy::Limits& limits) {
  constexpr const char* kInstead = ": raise it, or lay links to the files with --input-mode link";
  std::uint64_t bytes = 0;
  for (const InputEntry& entry : tree.entries) {
    if (entry.kind == InputEntry::Kind::file) bytes += (entry.size + kBlock - 1) / kBlock * kBlock;
    if (limits.scratch && bytes > *limits.scratch)
      return fail("the files of " + tree.folder + " are copied into the work folder, and are more than limits.scratch (" +
                  format_bytes(*limits.scratch) + ")" + kInstead);
  }
  if (limits.scratch_files && tree.entries.size() > *limits.scratch_files) {
    return fail("the " + std::to_string(tree.entries.size()) + " files and folders of " + tree.folder +
                " are more than limits.scratch_files (" + std::to_string(*limits.scratch_files) + "): raise it");
  }
  return {};
}

}  // namespace podjail
