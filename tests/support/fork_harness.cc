#include "support/fork_harness.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <ostream>

namespace podjail::test {

std::ostream& operator<<(std::ostream& out, const ChildEnd& end) {
  return end.signal != 0 ? out << "signal " << end.signal : out << "exit code " << end.code;
}

ChildEnd wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return {};
  }
  if (WIFSIGNALED(status)) return {.code = -1, .signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status), .signal = 0};
}

ChildEnd in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(body());
  }
  return wait_for(child);
}

bool become_unprivileged() {
  constexpr id_t kUser = 1000;
  if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setresgid(kUser, kUser, kUser) != 0 || ::setresuid(kUser, kUser, kUser) != 0))
    return false;
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

TemporaryFolder::TemporaryFolder() {
  char name[] = "/tmp/podjail-test-XXXXXX";
  if (::mkdtemp(name) == nullptr) return;
  path_ = name;
  if (::geteuid() == 0 && ::chown(name, 1000, 1000) != 0) path_.clear();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace podjail::test
