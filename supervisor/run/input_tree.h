#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "policy/policy.h"
#include "sys/fd.h"

namespace podjail {

/// One entry of the input folder, as the script will find it.
struct InputEntry {
  enum class Kind {
    folder,
    file,
    link,     ///< a symbolic link of the input's own
    foreign,  ///< what can't be copied: a FIFO, socket or device, and what podjail may not read
  } kind = Kind::file;
  std::string path;        ///< where it appears, relative to the folder
  std::string source;      ///< where it lies, relative to the folder; other than `path` only in ConfigMap and Secret volumes
  std::string target;      ///< of a link: what it says
  std::uint64_t size = 0;  ///< of a file: bytes
  bool python = false;     ///< a `.py` file, or a link of that name to a file within the folder: what can be imported
};

struct InputTree {
  std::string folder;               ///< absolute
  Fd root;                          ///< O_PATH
  std::vector<InputEntry> entries;  ///< a folder comes before what is in it; else by path
  std::vector<std::string> top;     ///< names of all entries of the folder itself, but for the hidden one

  /// Whether it has a file, or a link to one, of this path. Pure.
  [[nodiscard]] bool has_file(std::string_view path) const;
};

/// Walks `folder` (absolute). Left out are `hidden` (a name in it; may be empty) and, in ConfigMap and Secret volumes, the kubelet's
/// `..data` and `..TIMESTAMP`: links through them stand for what they lead to. Errors: a folder that can't be read to the end, more than a
/// million entries, folders more than 100 deep.
Expected<InputTree> read_input_tree(const std::string& folder, const std::string& hidden);

/// Whether copies of all of it fit the run's scratch limits. Pure. Errors: the limit, and what to do.
Expected<void> check_input_fits(const InputTree& tree, const Policy::Limits& limits);

}  // namespace podjail
