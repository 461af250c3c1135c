#include "run/lay_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "sys/files.h"

namespace podjail {
namespace {

std::string_view first_part(std::string_view path) {
  return path.substr(0, path.find('/'));
}

bool in_bytecode_cache(std::string_view path) {
  return path == "__pycache__" || path.starts_with("__pycache__/") || path.ends_with("/__pycache__") ||
         path.find("/__pycache__/") != std::string_view::npos;
}

// The times of a copy are its original's: make and its kin compare them.
Expected<void> keep_times(int from, int to) {
  struct stat about {};
  if (::fstat(from, &about) != 0) return fail("stat", errno);
  const std::array times = {about.st_atim, about.st_mtim};
  if (::futimens(to, times.data()) != 0) return fail("set times", errno);
  return {};
}

class Layer {
 public:
  Layer(const InputTree& tree, const Scratch& scratch, const InputLayout& layout) : tree_(tree), scratch_(scratch), layout_(layout) {}

  Expected<void> run() {
    work_ = TRY(open_at(AT_FDCWD, scratch_.work(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    task_ = TRY(open_at(AT_FDCWD, scratch_.task(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    for (const InputEntry& entry : tree_.entries) {
      if (layout_.stop()) return fail("lay the input", ECANCELED);
      const bool in_work = first_part(entry.path) != "output";
      if (in_work) TRY_VOID(lay_work(entry));
      if (first_part(entry.path) != layout_.script_name && !in_bytecode_cache(entry.path)) TRY_VOID(lay_task(entry, in_work));
    }
    return {};
  }

 private:
  [[nodiscard]] std::string original(const InputEntry& entry) const { return tree_.folder + "/" + entry.source; }

  // As it is where it leads from the folder to the folder; else absolute, as the place that it leads from is another one here.
  [[nodiscard]] std::string link_target(const InputEntry& entry) const {
    if (entry.target.starts_with('/')) return entry.target;
    const std::filesystem::path folder = std::filesystem::path(entry.path).parent_path();
    const std::string within = (folder / entry.target).lexically_normal().string();
    if (within != ".." && !within.starts_with("../")) return entry.target;
    return (std::filesystem::path(tree_.folder) / folder / entry.target).lexically_normal().string();
  }

  static Expected<void> link(int folder, const std::string& path, const std::string& target) {
    if (::symlinkat(target.c_str(), folder, path.c_str()) != 0) return fail("link", errno, path);
    return {};
  }

  Expected<void> lay_work(const InputEntry& entry) {
    switch (entry.kind) {
      case InputEntry::Kind::folder:
        return make_folder(work_.get(), entry.path, 0755);
      case InputEntry::Kind::link:
        return link(work_.get(), entry.path, link_target(entry));
      case InputEntry::Kind::foreign:
        return link(work_.get(), entry.path, original(entry));
      case InputEntry::Kind::file:
        break;
    }
    if (layout_.mode == RunRequest::InputMode::link) return link(work_.get(), entry.path, original(entry));
    return copy(entry, work_.get(), 0600);
  }

  Expected<void> lay_task(const InputEntry& entry, bool in_work) {
    if (entry.kind == InputEntry::Kind::folder) return make_folder(task_.get(), entry.path, 0755);
    if (const auto checked = layout_.validated.find(entry.path); checked != layout_.validated.end()) {
      const Fd to = TRY(open_at(task_.get(), entry.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0444));
      TRY_VOID(write_all(to.get(), checked->second));
      const auto from = open_within(tree_.root.get(), entry.source, O_RDONLY | O_NONBLOCK);
      return from ? keep_times(from->get(), to.get()) : Expected<void>{};
    }
    if (entry.python) return copy(entry, task_.get(), 0400);
    if (entry.kind == InputEntry::Kind::link) return link(task_.get(), entry.path, link_target(entry));
    if (entry.kind == InputEntry::Kind::foreign || layout_.mode == RunRequest::InputMode::link)
      return link(task_.get(), entry.path, original(entry));
    // One file under two names, so that what is written to it shows in both; a copy where the file system has none of that.
    if (in_work && ::linkat(work_.get(), entry.path.c_str(), task_.get(), entry.path.c_str(), 0) == 0) return {};
    return copy(entry, task_.get(), 0400);
  }

  // `mode`: what its owner may do with the copy in any case.
  Expected<void> copy(const InputEntry& entry, int folder, mode_t mode) {
    const Fd from = TRY(open_within(tree_.root.get(), entry.source, O_RDONLY | O_NONBLOCK | O_NOCTTY));
    struct stat about {};
    if (::fstat(from.get(), &about) != 0) return fail("stat", errno, entry.path);
    if (!S_ISREG(about.st_mode)) return fail("a file of the input became something else:", 0, entry.path);
    const Fd to = TRY(open_at(folder, entry.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    auto copied = copy_contents(from.get(), to.get(), entry.size, layout_.stop);
    if (!copied) return fail(copied.error().step, copied.error().err, entry.path);
    if (::fchmod(to.get(), (about.st_mode & 0777) | mode) != 0) return fail("set mode", errno, entry.path);
    return keep_times(from.get(), to.get());
  }

  const InputTree& tree_;
  const Scratch& scratch_;
  const InputLayout& layout_;
  Fd work_, task_;
};

}  // namespace

Expected<void> lay_input(const InputTree& tree, const Scratch& scratch, const InputLayout& layout) {
  return Layer(tree, scratch, layout).run();
}

}  // namespace podjail
