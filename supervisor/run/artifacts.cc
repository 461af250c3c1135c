#include "run/artifacts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/sha256.h"
#include "base/utf8.h"
#include "sys/dir.h"
#include "sys/files.h"

namespace podjail {
namespace {

constexpr std::size_t kMaxLooked = 20000;     // entries looked at, and maybe taken
constexpr std::size_t kMaxCounted = 1000000;  // entries counted
constexpr std::size_t kMaxPath = 4000;        // bytes; below PATH_MAX with artifacts/ before it
constexpr const char* kFolder = "artifacts";

std::string escaped(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  while (!name.empty()) {
    const std::size_t length = utf8_sequence_length(name);
    const auto byte = static_cast<unsigned char>(name.front());
    if (length == 0 || byte < 0x20 || byte == 0x7f || byte == '\\') {
      if (byte == '\\') {
        text += "\\\\";
      } else {
        text += "\\x";
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
      }
      name.remove_prefix(1);
      continue;
    }
    text += name.substr(0, length);
    name.remove_prefix(length);
  }
  return text;
}

bool good_name(std::string_view name) {
  return !find_invalid_utf8(name) &&
         std::none_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

const char* kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFLNK:
      return "symlink";
    case S_IFIFO:
      return "fifo";
    case S_IFSOCK:
      return "socket";
    default:
      return "device";
  }
}

class Collector {
 public:
  Collector(int output, int result_folder, const Policy::Limits& limits, const LinkTargets& links)
      : output_(output), result_folder_(result_folder), limits_(limits), links_(links) {}

  Expected<ArtifactReport> run() {
    open_roots();
    std::vector<std::string> folders{""};
    while (!folders.empty()) {
      const std::string folder = std::move(folders.back());
      folders.pop_back();
      TRY_VOID(walk(folder, folders));
    }
    std::ranges::sort(found_, {}, &Found::path);  // which ones fit the limits doesn't depend on the file system's order
    for (const Found& file : found_) TRY_VOID(take(file));
    std::ranges::sort(report_.refused, {}, &ArtifactReport::Refused::path);
    return std::move(report_);
  }

 private:
  struct Root {
    std::string path;
    Fd folder;
  };
  struct Found {
    std::string path;
    std::uint64_t size = 0;
    const Root* root = nullptr;  // of a link into the input: where the file lies
    std::string within;
  };

  void refuse(std::string_view path, const char* reason) { report_.refuse(escaped(path), reason); }

  Expected<void> walk(const std::string& folder, std::vector<std::string>& folders) {
    auto opened = open_beneath(output_, folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
    if (!opened && opened.error().err == EACCES) {  // chmod 0 by its owner, who is us: nothing runs any more that could swap it for a link
      (void)!::fchmodat(output_, folder.c_str(), S_IRWXU, 0);
      opened = open_beneath(output_, folder, O_RDONLY | O_DIRECTORY);
    }
    if (!opened) {
      ++report_.found;
      refuse(folder, "unreadable");
      return {};
    }
    const Dir dir = read_entries(*std::move(opened));
    if (!dir) return fail("read the output folder", errno);
    while (const dirent* const entry = ::readdir(dir.get())) {
      const std::string_view name = entry->d_name;
      if (is_dot(entry->d_name)) continue;
      if (++listed_ > kMaxCounted) {
        report_.complete = false;
        return {};
      }
      const std::string path = folder.empty() ? std::string(name) : folder + "/" + std::string(name);
      struct stat status {};
      if (::fstatat(::dirfd(dir.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (!S_ISDIR(status.st_mode)) ++report_.found;
      if (listed_ > kMaxLooked && !S_ISDIR(status.st_mode)) {
        refuse(path, "too_many_entries");
      } else if (!good_name(name)) {
        if (S_ISDIR(status.st_mode)) ++report_.found;
        refuse(path, "bad_name");
      } else if (path.size() > kMaxPath) {
        if (S_ISDIR(status.st_mode)) ++report_.found;
        refuse(path, "path_too_long");
      } else if (S_ISDIR(status.st_mode)) {
        folders.push_back(path);
      } else if (S_ISLNK(status.st_mode)) {
        take_link(path);
      } else if (!S_ISREG(status.st_mode)) {
        refuse(path, kind_of(status.st_mode));
      } else if (status.st_nlink > 1) {
        refuse(path, "hard_link");
      } else {
        found_.push_back({path, static_cast<std::uint64_t>(status.st_size), nullptr, {}});
      }
    }
    return {};
  }

  // Opens the folders of `links_` once; a folder that isn't there is left out.
  void open_roots() {
    if (links_.input == nullptr) return;
    for (const std::string& folder : {links_.work, links_.input_folder}) {
      if (auto opened = open_at(AT_FDCWD, folder, O_PATH | O_DIRECTORY)) roots_.push_back({folder, *std::move(opened)});
    }
  }

  struct Place {
    std::string within;
    bool in_work = false, in_input = false;  // where to look for it
  };

  // The input's file that an absolute path names, lexically; nullopt: none.
  [[nodiscard]] std::optional<Place> within_input(std::string_view path) const {
    for (const std::string& folder : {links_.work, links_.task, links_.input_folder}) {
      if (!path.starts_with(folder + "/")) continue;
      std::string within(path.substr(folder.size() + 1));
      if (links_.input->has_file(within)) return Place{std::move(within), folder != links_.input_folder, folder != links_.work};
    }
    return std::nullopt;
  }

  // By what the links say, a few at most: the kernel's own walk follows 40, each as long as a script likes. No part of a path may be
  // another link: open_beneath refuses it.
  void take_link(const std::string& path) {
    constexpr int kMaxLinks = 8;
    auto link = open_beneath(output_, path, O_PATH | O_NOFOLLOW);
    std::string at = links_.output + "/" + path;
    for (int i = 0; i < kMaxLinks && link && links_.input != nullptr; ++i) {
      const auto said = read_link(link->get());
      const auto place = said ? within_input((std::filesystem::path(at).parent_path() / *said).lexically_normal().string()) : std::nullopt;
      if (!place) break;
      const Root* found = nullptr;
      for (const Root& root : roots_) {
        if (!(root.path == links_.work ? place->in_work : place->in_input)) continue;
        link = open_beneath(root.folder.get(), place->within, O_PATH | O_NOFOLLOW);
        found = &root;
        if (link) break;
      }
      struct stat status {};
      if (found == nullptr || !link || ::fstat(link->get(), &status) != 0) break;
      if (S_ISREG(status.st_mode)) {
        found_.push_back({path, static_cast<std::uint64_t>(status.st_size), found, place->within});
        return;
      }
      at = found->path + "/" + place->within;
    }
    refuse(path, kind_of(S_IFLNK));
  }

  static std::optional<std::string> read_link(int fd) {
    char text[PATH_MAX];
    const ssize_t length = ::readlinkat(fd, "", text, sizeof text);
    if (length <= 0) return std::nullopt;
    return std::string(text, static_cast<std::size_t>(length));
  }

  Expected<Fd> open_source(const Found& file) {
    if (file.root != nullptr) return open_beneath(file.root->folder.get(), file.within, O_RDONLY | O_NONBLOCK);
    auto source = open_beneath(output_, file.path, O_RDONLY | O_NONBLOCK);
    if (source || source.error().err != EACCES) return source;
    (void)!::fchmodat(output_, file.path.c_str(), S_IRUSR | S_IWUSR, 0);
    return open_beneath(output_, file.path, O_RDONLY | O_NONBLOCK);
  }

  Expected<void> take(const Found& file) {
    const std::string& path = file.path;
    const std::uint64_t size = file.size;
    if (report_.files.size() >= limits_.artifact_files) {
      refuse(path, "limits.artifact_files");
      return {};
    }
    if (size > limits_.artifact_bytes ||
        total_ > limits_.artifact_bytes - size) {  // st_size: a sparse giant counts as what it would become
      refuse(path, "limits.artifact_bytes");
      return {};
    }
    const auto source = open_source(file);
    struct stat status {};
    if (!source || ::fstat(source->get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      refuse(path, "unreadable");
      return {};
    }
    const auto copy = create(path);
    Sha256 hash;
    std::uint64_t copied = 0;
    std::array<char, 65536> buffer;
    bool whole = copy.has_value();
    while (whole) {
      const ssize_t n = ::read(source->get(), buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n == 0) break;
      const std::string_view chunk(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
      hash.update(chunk);
      whole = n > 0 && write_all(copy->get(), chunk);
      copied += chunk.size();
    }
    if (!whole) {  // no space, most likely: what is half there must not take the record's place
      if (target_.valid()) ::unlinkat(target_.get(), path.c_str(), 0);
      refuse(path, "write_failed");
      return {};
    }
    total_ += copied;
    report_.files.push_back({path, copied, hash.hex_digest()});
    return {};
  }

  // The folders of `path` beneath artifacts/, then the file.
  Expected<Fd> create(const std::string& path) {
    if (!target_.valid()) {
      TRY_VOID(make_folder(result_folder_, kFolder, 0755));
      target_ = TRY(open_at(result_folder_, kFolder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    }
    for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const std::string folder = path.substr(0, slash);
      if (::mkdirat(target_.get(), folder.c_str(), 0755) != 0 && errno != EEXIST) return fail("make folder", errno, folder);
    }
    return open_at(target_.get(), path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
  }

  int output_, result_folder_;
  Fd target_;  // artifacts/, made for the first file
  const Policy::Limits& limits_;
  const LinkTargets& links_;
  std::vector<Root> roots_;
  std::vector<Found> found_;
  ArtifactReport report_;
  std::uint64_t total_ = 0;
  std::size_t listed_ = 0;
};

}  // namespace

Expected<ArtifactReport> collect_artifacts(int data_folder, int result_folder, const Policy::Limits& limits, const LinkTargets& links) {
  for (const char* folder : {"work", "work/output"}) {
    // Whatever a chmod left. AT_SYMLINK_NOFOLLOW: glibc 2.36 does it by /proc/self/fd, and refuses a link.
    (void)!::fchmodat(data_folder, folder, S_IRWXU, AT_SYMLINK_NOFOLLOW);
  }
  const auto output = open_beneath(data_folder, "work/output", O_RDONLY | O_DIRECTORY);
  if (output) return Collector(output->get(), result_folder, limits, links).run();
  ArtifactReport report;
  if (output.error().err != ENOENT) {
    ++report.found;
    report.refuse(".", output.error().err == ELOOP ? "symlink" : "not_a_folder");
  }
  return report;
}

}  // namespace podjail
