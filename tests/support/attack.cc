#include "support/attack.h"

#include <sys/prctl.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

namespace podjail::test {
namespace {

int errno_of(long (*call)()) {
  errno = 0;
  return call() < 0 ? errno : 0;
}

int code(const ChildEnd& end) {
  return end.signal == 31 ? kKilled : end.signal != 0 ? -1000 - end.signal : end.code;
}

class GroundFolder {
 public:
  GroundFolder() {
    ::mkdir((folder_.path() + "/open").c_str(), 0777);
    ::chmod((folder_.path() + "/open").c_str(), 0777);
    ground_ = {folder_.path() + "/open", folder_.path() + "/secret", folder_.path() + "/empty"};
    ::mkdir(ground_.empty_folder.c_str(), 0777);
    std::ofstream(ground_.secret) << "secret";
    // Whoever runs the tests: the modes let uid 1000 in, only the jail doesn't.
    ::chmod(ground_.secret.c_str(), 0666);
  }
  [[nodiscard]] const Ground& get() const { return ground_; }

 private:
  TemporaryFolder folder_;
  Ground ground_;
};

}  // namespace

const Ground& ground() {
  static const GroundFolder folder;
  return folder.get();
}

Policy closed_policy() {
  Policy policy;
  policy.limits.processes = 1;
  policy.filesystem.write = {ground().folder};
  return policy;
}

bool under_runtime_filter() {
  static const bool filtered = ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
  return filtered;
}

void expect_all(std::span<const Attack> attacks, const Policy& policy) {
  for (const Attack& attack : attacks) {
    SCOPED_TRACE(std::string(attack.claim) + " " + attack.name);
    const auto body = [&] { return errno_of(attack.call); };
    const int bare = code(run_bare(body));
    // What the container runtime's own profile refuses never comes to the jail: SECCOMP_RET_ERRNO goes before SECCOMP_RET_USER_NOTIF,
    // whichever filter says it (seccomp(2)).
    const bool runtime_refuses = under_runtime_filter() && bare != attack.bare && (bare == EPERM || bare == ENOSYS);
    if (attack.bare != kAny && !runtime_refuses) {
      EXPECT_EQ(bare, attack.bare) << "without the jail";
    }
    const auto expect = [&](const JailOptions& options, const char* where) {
      const int jailed = code(run_jailed(options, body));
      if (runtime_refuses && jailed == bare) return;
      EXPECT_EQ(jailed, attack.jailed) << where;
    };
    expect({.policy = policy}, "in the jail");
    expect({.policy = policy, .listener = false}, "in the jail without a listener");
  }
}

void expect_works(const char* name, const Policy& policy, const std::function<int()>& body) {
  SCOPED_TRACE(name);
  EXPECT_EQ(code(run_bare(body)), 0) << "without the jail";
  EXPECT_EQ(code(run_jailed({.policy = policy}, body)), 0) << "in the jail";
  EXPECT_EQ(code(run_jailed({.policy = policy, .listener = false}, body)), 0) << "in the jail without a listener";
}

}  // namespace podjail::test
