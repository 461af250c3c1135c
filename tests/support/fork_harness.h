#pragma once
#include <sys/types.h>

#include <functional>
#include <iosfwd>
#include <string>

namespace podjail::test {

/// How a forked child ended.
struct ChildEnd {
  int code = -1;  ///< of its _exit, -1 where a signal killed it
  int signal = 0;
  bool operator==(const ChildEnd&) const = default;
};
std::ostream& operator<<(std::ostream& out, const ChildEnd& end);

inline constexpr int kHarnessFailed = 250;  ///< exit code of a child that could not be set up (above every errno)

ChildEnd wait_for(pid_t child);

/// Runs `body` in a forked child and returns how it ended; the body's value is the exit code. A child that hangs is ended by SIGALRM.
ChildEnd in_child(const std::function<int()>& body);

/// What a script in a pod is: uid 1000, no capabilities, no_new_privs. Root gives its rights up; anyone else stays who he is. Dumpable, as
/// a program that was executed would be.
bool become_unprivileged();

/// A new folder that uid 1000 may use, removed with its content.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace podjail::test
