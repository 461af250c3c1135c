#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "policy/policy.h"
#include "sys/fd.h"

namespace podjail {

/// The run's own folders:
///   ROOT/          0700, podjail-<random>; removed at the end
///     data/        what the script may write: work/ (its current folder, with output/ inside), tmp/, home/
///     task/        the script's read-only copy beside the Python files of --input, so that __file__ can be read and not written
class Scratch {
 public:
  /// In $PODJAIL_SCRATCH, else /podjail/scratch where that can be written (a pod's emptyDir), else $TMPDIR, else /tmp.
  static Expected<Scratch> make();
  Scratch(Scratch&&) = default;
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();

  [[nodiscard]] std::string data() const { return root_ + "/data"; }
  [[nodiscard]] std::string work() const { return root_ + "/data/work"; }
  [[nodiscard]] std::string output() const { return root_ + "/data/work/output"; }
  [[nodiscard]] std::string tmp() const { return root_ + "/data/tmp"; }
  [[nodiscard]] std::string home() const { return root_ + "/data/home"; }
  [[nodiscard]] std::string task() const { return root_ + "/task"; }
  [[nodiscard]] int data_folder() const { return data_.get(); }

  /// Lays the script's copy (mode 0444) into task/ and returns its path. `name` is a file name, no path.
  Expected<std::string> place_script(const std::string& name, std::string_view bytes);

  /// Removes task/, once nothing runs any more; what is left of it goes with the rest.
  void remove_task();

  /// What the script may not find after the end: removes everything. Idempotent. Errors: the first thing that could not be removed.
  Expected<void> remove();

 private:
  Scratch(Fd parent, std::string root, std::string name) : parent_(std::move(parent)), root_(std::move(root)), name_(std::move(name)) {}
  Fd parent_;
  std::string root_, name_;
  Fd data_;
};

}  // namespace podjail
