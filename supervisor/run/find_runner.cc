#include "run/find_runner.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <vector>

#include "sys/files.h"

namespace podjail {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "podjail-python";

std::vector<std::string> folders() {
  std::vector<std::string> list;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) list.push_back(self.parent_path().string());
  if (list.empty() || list.front() != PODJAIL_INSTALL_BINDIR) list.emplace_back(PODJAIL_INSTALL_BINDIR);
  return list;
}

std::set<std::string> versions_in(const std::string& folder) {
  std::set<std::string> versions;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const std::string version = name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : std::string();
    if (!version.empty() && version.find_first_not_of("0123456789.") == std::string::npos) versions.insert(version);
  }
  return versions;
}

std::string python_executable(const std::string& version) {
  for (const char* folder : {"/usr/bin/python", "/usr/local/bin/python"}) {
    std::string path = folder + version;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "/usr/bin/python" + version;
}

}  // namespace

std::vector<Runner> list_runners() {
  std::vector<Runner> runners;
  for (const std::string& folder : folders()) {
    for (const std::string& version : versions_in(folder)) {
      runners.push_back({folder + "/" + std::string(kPrefix) + version, version, python_executable(version)});
    }
  }
  return runners;
}

Expected<Runner> find_runner(const std::optional<std::string>& version) {
  const std::vector<Runner> runners = list_runners();
  std::set<std::string> versions;
  for (const Runner& runner : runners) {
    if (version == runner.version) return runner;
    versions.insert(runner.version);
  }
  if (!version && versions.size() == 1) return runners.front();
  std::string looked_in, found;
  for (const std::string& folder : folders()) looked_in += (looked_in.empty() ? "" : ", ") + folder;
  for (const std::string& v : versions) found += (found.empty() ? "" : ", ") + v;
  if (!version && !versions.empty()) return fail("several Pythons are there (" + found + "): choose one by python.version");
  return fail("no podjail-python" + version.value_or("X.Y") + " in " + looked_in + (found.empty() ? "" : " (there is " + found + ")"));
}

Expected<std::string> find_command(const std::string& command, const std::string& path, const std::string& folder) {
  if (command.empty()) return fail("the command is empty");
  if (command.find('/') != std::string::npos) {
    const std::string absolute = command.front() == '/' ? command : folder + "/" + command;
    if (::access(absolute.c_str(), X_OK) != 0) return fail("run", errno, command);
    return absolute;
  }
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t colon = std::min(path.find(':', start), path.size());
    const std::string candidate = path.substr(start, colon - start) + "/" + command;
    if (candidate.front() == '/' && ::access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate;
    start = colon + 1;
  }
  return fail("command not found in PATH (" + path + "):", 0, command);
}

}  // namespace podjail
