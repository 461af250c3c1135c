#include "sys/proc_read.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <unordered_map>

#include "sys/clock.h"
#include "sys/dir.h"
#include "sys/fd.h"

namespace podjail {
namespace {

constexpr std::size_t kMaxProcFile = 16U << 20;  // smaps of a process with thousands of mappings

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

std::uint64_t number(std::string_view text, int base = 10) {
  text = trimmed(text);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::optional<pid_t> numeric_name(const char* name) {
  pid_t pid = 0;
  const char* end = name + std::char_traits<char>::length(name);
  const auto [stop, error] = std::from_chars(name, end, pid);
  return error == std::errc{} && stop == end && pid > 0 ? std::optional(pid) : std::nullopt;
}

std::vector<pid_t> numeric_entries(const std::string& path) {
  std::vector<pid_t> found;
  const Dir folder(::opendir(path.c_str()));
  if (!folder) return found;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (const auto pid = numeric_name(entry->d_name)) found.push_back(*pid);
  }
  return found;
}

// The fields of /proc/PID/stat from the third (state) on. The second, the process's own name in brackets, may hold ") Z 1 1\n(": the last
// bracket counts.
Expected<std::vector<std::string_view>> stat_fields(std::string_view text) {
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string_view::npos) return fail("no name in /proc/PID/stat");
  std::vector<std::string_view> fields;
  std::string_view rest = text.substr(bracket + 1);
  while (true) {
    const std::size_t start = rest.find_first_not_of(" \n");
    if (start == std::string_view::npos) return fields;
    rest.remove_prefix(start);
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    fields.push_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
}

}  // namespace

Expected<std::string> read_proc_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return fail("open", errno, path);
  std::string text(4096, '\0');
  std::size_t used = 0;
  while (true) {
    const ssize_t count = ::read(file.get(), text.data() + used, text.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail("read", errno, path);
    if (count == 0) break;
    used += static_cast<std::size_t>(count);
    if (used > kMaxProcFile) return fail("read", EFBIG, path);
    if (used == text.size()) text.resize(text.size() * 2);
  }
  text.resize(used);
  return text;
}

ProcStatus parse_proc_status(std::string_view text) {
  ProcStatus status;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, colon);  // Name's value has its control characters escaped by the kernel
    const std::string_view value = trimmed(line.substr(colon + 1));
    const auto bytes = [&] { return number(value) * 1024; };  // "  123 kB"
    if (key == "Tgid")
      status.tgid = static_cast<pid_t>(number(value));
    else if (key == "PPid")
      status.ppid = static_cast<pid_t>(number(value));
    else if (key == "State")
      status.state = value.empty() ? '?' : value.front();
    else if (key == "Threads")
      status.threads = static_cast<int>(number(value));
    else if (key == "Seccomp")
      status.seccomp_mode = static_cast<int>(number(value));
    else if (key == "Seccomp_filters")
      status.seccomp_filters = static_cast<int>(number(value));
    else if (key == "NoNewPrivs")
      status.no_new_privs = number(value) == 1;
    else if (key == "CapInh")
      status.cap_inheritable = number(value, 16);
    else if (key == "CapPrm")
      status.cap_permitted = number(value, 16);
    else if (key == "CapEff")
      status.cap_effective = number(value, 16);
    else if (key == "CapBnd")
      status.cap_bounding = number(value, 16);
    else if (key == "CapAmb")
      status.cap_ambient = number(value, 16);
    else if (key == "RssAnon")
      status.rss_anon = bytes();
    else if (key == "RssShmem")
      status.rss_shmem = bytes();
    else if (key == "VmSwap")
      status.vm_swap = bytes();
    else if (key == "VmPTE")
      status.vm_pte = bytes();
    else if (key == "VmData")
      status.vm_data = bytes();
  }
  return status;
}

namespace {

// "7f..-7f.. rw-s 00000000 00:17 123      /dev/shm/x" (proc(5)): what follows the address range of a mapping's first line.
struct Mapping {
  unsigned major = 0, minor = 0;
  ino_t inode = 0;
  std::string_view path;
};

std::optional<Mapping> parse_mapping(std::string_view line) {
  std::string_view fields[5];
  for (std::string_view& field : fields) {
    line = trimmed(line);
    const std::size_t end = std::min(line.find(' '), line.size());
    field = line.substr(0, end);
    line.remove_prefix(end);
  }
  const std::size_t colon = fields[3].find(':');
  if (fields[0].find('-') == std::string_view::npos || colon == std::string_view::npos) return std::nullopt;
  return Mapping{static_cast<unsigned>(number(fields[3].substr(0, colon), 16)),
                 static_cast<unsigned>(number(fields[3].substr(colon + 1), 16)), static_cast<ino_t>(number(fields[4])), trimmed(line)};
}

}  // namespace

std::vector<MappedFile> parse_maps(std::string_view text) {
  std::vector<MappedFile> files;
  while (!text.empty()) {
    const auto mapping = parse_mapping(next_line(text));
    if (mapping && mapping->inode != 0) files.push_back({makedev(mapping->major, mapping->minor), mapping->inode});
  }
  return files;
}

std::vector<MappedFile> mapped_files(pid_t pid) {
  const auto text = read_proc_file("/proc/" + std::to_string(pid) + "/maps");
  return text ? parse_maps(*text) : std::vector<MappedFile>{};
}

std::uint64_t parse_shared_pss(std::string_view smaps) {
  std::uint64_t total = 0;
  bool counts = false;
  while (!smaps.empty()) {
    const std::string_view line = next_line(smaps);
    if (const auto mapping = parse_mapping(line)) {
      counts = mapping->path.starts_with("/dev/zero") || mapping->path.starts_with("/memfd:") || mapping->path.starts_with("/SYSV") ||
               mapping->path.starts_with("[anon_shmem:");
    } else if (counts && line.starts_with("Pss:")) {
      total += number(line.substr(4)) * 1024;
    }
  }
  return total;
}

Expected<OpenFile> open_file_of(pid_t pid, int fd) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  struct statx about {};
  if (::statx(AT_FDCWD, path.c_str(), AT_STATX_DONT_SYNC, STATX_TYPE | STATX_UID | STATX_INO, &about) != 0)
    return fail("stat", errno, path);
  return OpenFile{.mode = about.stx_mode,
                  .device = makedev(about.stx_dev_major, about.stx_dev_minor),
                  .special = makedev(about.stx_rdev_major, about.stx_rdev_minor),
                  .inode = about.stx_ino,
                  .owner = about.stx_uid};
}

std::optional<unsigned> terminal_of(pid_t pid, int fd) {
  constexpr unsigned kMajor = 5, kMinor = 2;  // ptmx: Documentation/admin-guide/devices.txt
  const auto file = open_file_of(pid, fd);
  if (!file || !S_ISCHR(file->mode) || file->special != makedev(kMajor, kMinor)) return std::nullopt;
  const auto text = read_proc_file("/proc/" + std::to_string(pid) + "/fdinfo/" + std::to_string(fd));
  constexpr std::string_view kKey = "tty-index:";
  for (std::string_view rest = text ? std::string_view(*text) : std::string_view(); !rest.empty();) {
    const std::string_view line = next_line(rest);
    if (line.starts_with(kKey)) return static_cast<unsigned>(number(line.substr(kKey.size())));
  }
  return std::nullopt;
}

Expected<Fd> open_proc(pid_t pid, const std::string& name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return fail("open", errno == ENOENT && ::kill(pid, 0) != 0 ? ESRCH : errno, path);
  return file;
}

Expected<ProcStatus> read_proc_status(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/status";
  auto text = read_proc_file(path);
  if (!text) {
    if (text.error().err == ENOENT) text.error().err = ESRCH;
    return std::unexpected(text.error());
  }
  return parse_proc_status(*text);
}

std::vector<pid_t> descendants(pid_t root) {
  // Processes that fork and die give the reader of /proc a new last entry for ever: what is seen in this time must do.
  const auto until = Monotonic::now() + std::chrono::milliseconds(100);
  std::unordered_multimap<pid_t, pid_t> children;
  const Dir folder(::opendir("/proc"));
  while (const dirent* const entry = folder ? ::readdir(folder.get()) : nullptr) {
    if (Monotonic::now() >= until) break;
    const auto pid = numeric_name(entry->d_name);
    if (!pid) continue;
    const auto text = read_proc_file("/proc/" + std::to_string(*pid) + "/stat");
    if (!text) continue;  // gone meanwhile
    const auto fields = stat_fields(*text);
    if (fields && fields->size() > 1) children.emplace(static_cast<pid_t>(number((*fields)[1])), *pid);
  }
  std::vector<pid_t> found;
  std::vector<pid_t> open{root};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      found.push_back(child->second);
      open.push_back(child->second);
    }
    children.erase(first, last);  // a PID reused during the pass could otherwise close a circle
  }
  return found;
}

std::vector<pid_t> thread_ids(pid_t pid) {
  return numeric_entries("/proc/" + std::to_string(pid) + "/task");
}

Expected<CpuTimes> read_cpu_times(pid_t pid) {
  static const auto tick_ns = static_cast<std::uint64_t>(1'000'000'000 / ::sysconf(_SC_CLK_TCK));
  const auto text = TRY(read_proc_file("/proc/" + std::to_string(pid) + "/stat"));
  const auto fields = TRY(stat_fields(text));
  constexpr std::size_t kUtime = 14 - 3;  // proc(5) counts from 1, and the first two are cut off
  if (fields.size() < kUtime + 4) return fail("too few fields in /proc/PID/stat");
  return CpuTimes{.user_ns = (number(fields[kUtime]) + number(fields[kUtime + 2])) * tick_ns,
                  .system_ns = (number(fields[kUtime + 1]) + number(fields[kUtime + 3])) * tick_ns};
}

}  // namespace podjail
