#pragma once
#include <optional>
#include <string>

#include "base/error.h"
#include "result/result.h"
#include "sys/fd.h"

namespace podjail {

/// What an earlier run left in the result folder.
struct EarlierRecord {
  Status status = Status::running;
  std::string run_id;
  int attempt = 1;
  std::optional<int> code, signal;  ///< the script's own end
};

/// The result folder, opened before the script exists. Holds the folder by descriptor, so a renamed path changes nothing.
class ResultStore {
 public:
  /// Makes the folder where it is missing, locks it against a second podjail (flock(2), until this object goes) and proves that it can be
  /// written. Refuses a folder that holds files of our names that podjail did not make. Errors name the path, uid and gid, and its owner
  /// and mode.
  static Expected<ResultStore> open(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }  ///< absolute
  [[nodiscard]] int folder() const { return folder_.get(); }

  /// The record that is there already, nullopt where there is none or it is no podjail.result/v1.
  [[nodiscard]] std::optional<EarlierRecord> earlier() const;

  /// Gives the folder the mode back that it had when it was opened: Landlock has no right for chmod(2), so a process of the same UID can
  /// take it away.
  void restore_mode();

  /// Atomically: write beside it, fsync, rename, fsync the folder; restores the mode first.
  Expected<void> publish(const std::string& record);

  /// Takes away what an earlier run left: stdout.log, stderr.log, artifacts/.
  Expected<void> clear();

  Expected<void> remove_artifacts();

  /// A file that is written while the run goes on (stdout.log), mode 0644, truncated.
  Expected<Fd> create_file(const std::string& name);

 private:
  Expected<void> refuse_foreign() const;
  ResultStore(std::string path, Fd folder, mode_t mode) : path_(std::move(path)), folder_(std::move(folder)), mode_(mode) {}
  std::string path_;
  Fd folder_;
  mode_t mode_;
};

/// Writes the compact record where Kubernetes looks for it, if there is such a file. Best effort: the result file is the truth.
void write_termination_message(const std::string& message);

}  // namespace podjail
