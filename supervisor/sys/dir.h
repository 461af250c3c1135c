#pragma once
#include <dirent.h>

#include <memory>

#include "sys/fd.h"

namespace podjail {

struct CloseDir {
  void operator()(DIR* dir) const noexcept { ::closedir(dir); }
};

/// A folder whose entries are being read (readdir(3)). Null: it could not be opened.
using Dir = std::unique_ptr<DIR, CloseDir>;

/// Takes the descriptor over. Null with errno; the descriptor is closed then, too.
inline Dir read_entries(Fd folder) {
  DIR* const dir = folder.valid() ? ::fdopendir(folder.get()) : nullptr;
  if (dir != nullptr) (void)folder.release();
  return Dir(dir);
}

inline bool is_dot(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

}  // namespace podjail
