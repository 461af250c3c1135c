#include "run/spawn.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "run/spawn_child.h"
#include "sys/process.h"

namespace podjail {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& list) {
  std::vector<char*> result;
  result.reserve(list.size() + 1);
  for (const std::string& item : list) result.push_back(const_cast<char*>(item.c_str()));  // execve(2) takes them so and changes nothing
  result.push_back(nullptr);
  return result;
}

// vfork(2) where nothing is done between the jail and execve that could need the parent: it copies no page tables (0.4 ms less). In a
// function of its own, with nothing in it that the child's use of the same stack could spoil.
[[gnu::noinline]] pid_t split(const SpawnSpec& spec, char* const* argv, char* const* env, int status_fd, pid_t supervisor) {
  const pid_t pid = spec.report_fd >= 0 ? ::vfork() : ::fork();
  if (pid == 0) run_child(spec, argv, env, status_fd, supervisor);
  return pid;
}

}  // namespace

Expected<Spawned> spawn(const SpawnSpec& spec) {
  const std::vector<char*> argv = pointers(spec.argv), env = pointers(spec.env);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("pipe2", errno);
  Fd status(ends[0]);
  const Fd low_end(ends[1]);
  const Fd child_end(::fcntl(low_end.get(), F_DUPFD_CLOEXEC, 10));
  if (!child_end.valid()) return fail("fcntl(F_DUPFD_CLOEXEC)", errno);
  const pid_t supervisor = ::getpid();
  const pid_t pid = split(spec, argv.data(), env.data(), child_end.get(), supervisor);
  if (pid < 0) return fail("fork", errno);
  Spawned spawned{pid, TRY(open_pidfd(pid)), std::move(status)};
  return spawned;
}

ChildError read_child_error(int status) {
  ChildError error;
  ssize_t n = 0;
  do {
    n = ::read(status, &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  return n == static_cast<ssize_t>(sizeof error) ? error : ChildError{};
}

}  // namespace podjail
