#include "result/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "result/write.h"
#include "sys/files.h"

namespace podjail {
namespace {

constexpr const char* kRecord = "result.json";
constexpr const char* kTemporary = ".result.json.tmp";
constexpr const char* kArtifacts = "artifacts";
constexpr const char* kStreams[] = {"stdout.log", "stderr.log"};
constexpr const char* kTerminationLog = "/dev/termination-log";
constexpr mode_t kMode = 0644;
constexpr std::size_t kMaxRecord = 256U << 20;

Error with_owner(Error error, const std::string& path) {
  error.subject = path + " (" + describe_owner(path) + ")";
  return error;
}

}  // namespace

Expected<ResultStore> ResultStore::open(const std::string& path) {
  const std::string absolute = TRY(absolute_path(path));
  if (auto made = make_folders(absolute); !made) return std::unexpected(with_owner(made.error(), absolute));
  auto folder = open_at(AT_FDCWD, absolute, O_RDONLY | O_DIRECTORY);
  if (!folder) return std::unexpected(with_owner(folder.error(), absolute));
  struct stat status {};
  if (::fstat(folder->get(), &status) != 0) return fail("stat", errno, absolute);
  ResultStore store(absolute, *std::move(folder), status.st_mode & 07777);
  // Where the file system has no locks (some NFS) there is none to miss.
  if (::flock(store.folder(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return fail("another podjail is at work in", 0, absolute);
  if (!store.earlier()) TRY_VOID(store.refuse_foreign());
  (void)remove_tree(store.folder(), kTemporary);  // a lost podjail's
  auto probe = open_at(store.folder(), kTemporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kMode);
  if (!probe) return std::unexpected(with_owner(Error{"write to", probe.error().err, {}}, absolute));
  (void)::unlinkat(store.folder(), kTemporary, 0);  // the next publish makes it anew
  return store;
}

// `--out .` in somebody's project must not cost them their files. An empty stream file is ours: from a run that was lost before its first
// record.
Expected<void> ResultStore::refuse_foreign() const {
  const auto refuse = [this](const char* name) {
    return fail("the folder holds a file that podjail did not make, and would replace; choose another --out:", 0, path_ + "/" + name);
  };
  struct stat status {};
  for (const char* name : {kRecord, kArtifacts}) {
    if (::fstatat(folder(), name, &status, AT_SYMLINK_NOFOLLOW) == 0) return refuse(name);
  }
  for (const char* name : kStreams) {
    if (::fstatat(folder(), name, &status, AT_SYMLINK_NOFOLLOW) == 0 && (!S_ISREG(status.st_mode) || status.st_size > 0))
      return refuse(name);
  }
  return {};
}

Expected<void> ResultStore::clear() {
  restore_mode();
  for (const char* name : kStreams) {
    if (::unlinkat(folder(), name, 0) != 0 && errno != ENOENT) return fail("replace", errno, path_ + "/" + name);
  }
  return remove_artifacts();
}

Expected<void> ResultStore::remove_artifacts() {
  return remove_tree(folder(), kArtifacts);
}

std::optional<EarlierRecord> ResultStore::earlier() const {
  auto file = open_at(folder(), kRecord, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file && file.error().err == EACCES) {  // a script of the same UID can take the mode away, though not the content
    (void)!::fchmodat(folder(), kRecord, kMode, AT_SYMLINK_NOFOLLOW);
    file = open_at(folder(), kRecord, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  }
  if (!file) return std::nullopt;
  const auto text = read_all(file->get(), kMaxRecord);
  if (!text) return std::nullopt;
  using nlohmann::json;
  const json document = json::parse(*text, nullptr, false);
  if (!document.is_object() || document.value("schema", json()) != "podjail.result/v1") return std::nullopt;
  EarlierRecord record;
  const json status = document.value("status", json()), run = document.value("run", json()), exit = document.value("exit", json());
  if (!status.is_string() || !run.is_object() || !exit.is_object()) return std::nullopt;
  const auto known = status_from(status.get_ref<const std::string&>());
  if (!known) return std::nullopt;
  record.status = *known;
  if (const json id = run.value("id", json()); id.is_string()) record.run_id = id.get<std::string>();
  if (const json attempt = run.value("attempt", json()); attempt.is_number_unsigned()) record.attempt = attempt.get<int>();
  if (const json code = exit.value("code", json()); code.is_number_unsigned()) record.code = code.get<int>();
  if (const json name = exit.value("signal", json()); name.is_string()) {
    for (int signal = 1; signal < NSIG && !record.signal; ++signal) {
      if (signal_name(signal) == name.get_ref<const std::string&>()) record.signal = signal;
    }
  }
  return record;
}

void ResultStore::restore_mode() {
  (void)!::fchmod(folder(), mode_);  // a failure shows in the next open
}

Expected<void> ResultStore::publish(const std::string& record) {
  restore_mode();
  TRY_VOID(remove_tree(folder(), kTemporary));  // whatever it has become: nothing that is there already is opened
  const Fd file = TRY(open_at(folder(), kTemporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kMode));
  TRY_VOID(write_all(file.get(), record));
  if (::fsync(file.get()) != 0) return fail("fsync", errno, kTemporary);
  if (::renameat(folder(), kTemporary, folder(), kRecord) != 0) return fail("rename to", errno, kRecord);
  if (::fsync(folder()) != 0 && errno != EINVAL) return fail("fsync", errno, path_);  // EINVAL: a file system without it (some FUSE)
  return {};
}

Expected<Fd> ResultStore::create_file(const std::string& name) {
  return open_at(folder(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kMode);
}

void write_termination_message(const std::string& message) {
  if (auto file = open_at(AT_FDCWD, kTerminationLog, O_WRONLY | O_TRUNC | O_NOCTTY)) {
    (void)write_all(file->get(), message);  // best effort: no result depends on it
  }
}

}  // namespace podjail
