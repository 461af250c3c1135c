#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string>

#include "support/jail_harness.h"

namespace podjail::test {

/// One attempt, made in two forked children: without the jail (where it works, or gives an errno that shows that only rights were missing),
/// and within.
struct Attack {
  const char* claim;  ///< of SECURITY.md
  const char* name;
  long (*call)();  ///< a system call: >= 0, or -1 and errno
  int bare;        ///< the errno without the jail; 0: it works; kAny: depends on the machine
  int jailed;      ///< the exact errno with the jail, or kKilled
};

inline constexpr int kAny = -1;      ///< this machine decides (Yama, kernel options)
inline constexpr int kKilled = -31;  ///< SIGSYS

/// What the rows may use.
struct Ground {
  std::string folder;  ///< the policy opens it for writing
  std::string secret;  ///< a file beside it, which the policy doesn't list; as the next one
  std::string empty_folder;
};
const Ground& ground();

/// A policy that lists the ground's folder and no more, one process.
Policy closed_policy();

/// Whether the tests themselves run under a seccomp filter: a container runtime's profile.
bool under_runtime_filter();

/// Tries each row bare, jailed with a listener, and jailed without one.
void expect_all(std::span<const Attack> attacks, const Policy& policy);

/// The same for what must stay possible: works in all three.
void expect_works(const char* name, const Policy& policy, const std::function<int()>& body);

}  // namespace podjail::test
