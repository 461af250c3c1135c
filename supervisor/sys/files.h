#pragma once
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "sys/fd.h"

namespace podjail {

/// openat(2) with O_CLOEXEC. `folder` may be AT_FDCWD.
Expected<Fd> open_at(int folder, const std::string& path, int flags, mode_t mode = 0);

/// openat2(2) with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS (Linux 5.6): nothing outside `folder`, no link followed.
Expected<Fd> open_beneath(int folder, const std::string& path, int flags);

/// The same, but links are followed as long as they stay beneath `folder`; EXDEV where one leads out.
Expected<Fd> open_within(int folder, const std::string& path, int flags);

/// The whole file. EFBIG where it has more than `limit` bytes (also when it grows while being read).
Expected<std::string> read_all(int fd, std::size_t limit);

Expected<void> write_all(int fd, std::string_view bytes);

/// Copies a regular file into an empty one: by reflink (FICLONE), else copy_file_range(2), else by reading and writing. Both offsets are at
/// 0. `stop` is asked every 64 MiB; true: ECANCELED. EFBIG where there are more than `limit` bytes: it grew.
Expected<void> copy_contents(int from, int to, std::uint64_t limit, const std::function<bool()>& stop);

/// A memfd that holds `bytes` and is sealed against every change (F_SEAL_SEAL | SHRINK | GROW | WRITE), CLOEXEC, at offset 0.
Expected<Fd> sealed_memfd(const char* name, std::string_view bytes);

/// mkdirat(2); an existing folder is an error. `mode` is lessened by the umask, which main sets to 022.
Expected<void> make_folder(int parent, const std::string& name, mode_t mode);

/// mkdir -p; new folders get 0755 less the umask.
Expected<void> make_folders(const std::string& path);

/// Removes `name` in `parent` with all beneath it, folders without permissions too, following no link. Iterative, no depth limit.
Expected<void> remove_tree(int parent, const std::string& name);

/// Bytes on disk (st_blocks) and inodes beneath an open folder, itself not counted, hard links counted once each name. Stops early once one
/// of the bounds is passed.
struct TreeSize {
  std::uint64_t bytes = 0, files = 0;
  bool too_deep = false;  ///< folders more than 128 deep: not counted to the end
};
/// `unlock`: gives folders the owner's permissions back that a chmod took away, so that nothing hides in them; only for a tree that nothing
/// changes any more.
TreeSize measure_tree(int folder, std::uint64_t max_bytes, std::uint64_t max_files, bool unlock = false);

/// Why this user may have no access: "owner 0:0, mode 0755; podjail is 1000:1000", of the path or of the nearest folder above it that is
/// there, which is named then.
std::string describe_owner(const std::string& path);

/// Absolute, lexically normal (no "." or ".."; symlinks are left alone).
Expected<std::string> absolute_path(const std::string& path);

}  // namespace podjail
