#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace podjail {

/// A podjail-pythonX.Y and the real python3 whose place it takes.
struct Runner {
  std::string path;        ///< absolute
  std::string version;     ///< "3.11", from the name
  std::string executable;  ///< /usr/bin/python3.11: sys.executable of the script
};

/// Looks beside podjail itself, then in the folder it is installed to. `version` nullopt: the only one there.
/// Errors: none, or several and no python.version to choose by; both name the folders and what is there.
Expected<Runner> find_runner(const std::optional<std::string>& version);

/// All that can be found, first beside podjail, then installed, by version.
std::vector<Runner> list_runners();

/// COMMAND as execvp(3) would find it in `path` ("/usr/bin:/bin"); a name with '/' is taken as it is, relative to `folder`.
Expected<std::string> find_command(const std::string& command, const std::string& path, const std::string& folder);

}  // namespace podjail
