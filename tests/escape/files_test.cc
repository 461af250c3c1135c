#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

#include "support/attack.h"
#include "sys/landlock.h"

namespace podjail::test {
namespace {

const char* secret() {
  return ground().secret.c_str();
}
std::string beside(const char* name) {
  return ground().secret + name;
}
std::string inside(const char* name) {
  return ground().folder + "/" + name;
}

long open_proc_of_parent(const char* file) {
  return ::open(("/proc/" + std::to_string(::getppid()) + "/" + file).c_str(), O_RDONLY);
}

const Attack kReads[] = {
    {"C-01", "read a file", [] { return long{::open(secret(), O_RDONLY)}; }, 0, EACCES},
    {"C-01", "read a file by way of an open folder", [] { return long{::open(inside("../secret").c_str(), O_RDONLY)}; }, 0, EACCES},
    {"C-01", "read through a link of one's own",
     [] {
       (void)!::symlink(secret(), inside("link").c_str());
       const long fd = ::open(inside("link").c_str(), O_RDONLY);
       const int err = errno;
       ::unlink(inside("link").c_str());
       errno = err;
       return fd;
     },
     0, EACCES},
    {"C-01", "list a folder", [] { return long{::open("/", O_RDONLY | O_DIRECTORY)}; }, 0, EACCES},
    {"C-01", "read the accounts", [] { return long{::open("/etc/passwd", O_RDONLY)}; }, 0, EACCES},
    {"C-01", "list the processes", [] { return long{::open("/proc", O_RDONLY | O_DIRECTORY)}; }, 0, EACCES},
    {"C-01", "the supervisor's command line", [] { return open_proc_of_parent("cmdline"); }, 0, EACCES},
    {"C-01", "the supervisor's environment", [] { return open_proc_of_parent("environ"); }, 0, EACCES},
    {"C-01", "the supervisor's mounts", [] { return open_proc_of_parent("mountinfo"); }, 0, EACCES},
    {"C-03", "the supervisor's memory", [] { return long{::open(("/proc/" + std::to_string(::getppid()) + "/mem").c_str(), O_RDWR)}; }, 0,
     EACCES},
    {"C-01", "open by handle", [] { return ::syscall(SYS_open_by_handle_at, -1, nullptr, 0); }, kAny, EPERM},
};

// Where an attack works (without the jail), its trace is undone, so that the next try finds the same ground.
long undone_by_unlink(long result, const std::string& path) {
  const int err = errno;
  if (result >= 0) ::unlink(path.c_str());
  errno = err;
  return result;
}

const Attack kChanges[] = {
    {"C-02", "write a file", [] { return long{::open(secret(), O_WRONLY)}; }, 0, EACCES},
    {"C-02", "truncate while opening", [] { return long{::open(secret(), O_WRONLY | O_TRUNC)}; }, 0, EACCES},
    {"C-02", "truncate by path", [] { return long{::truncate(secret(), 0)}; }, 0, EACCES},
    {"C-02", "make a file",
     [] { return undone_by_unlink(::open(beside("-new").c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600), beside("-new")); }, 0, EACCES},
    {"C-02", "remove a file",
     [] {
       const long removed = ::unlink(secret());
       if (removed == 0) ::close(::creat(secret(), 0666));
       return removed;
     },
     0, EACCES},
    {"C-02", "make a folder",
     [] {
       const long made = ::mkdir(beside("-dir").c_str(), 0700);
       if (made == 0) ::rmdir(beside("-dir").c_str());
       return made;
     },
     0, EACCES},
    {"C-02", "remove a folder",
     [] {
       const long removed = ::rmdir(ground().empty_folder.c_str());
       if (removed == 0) ::mkdir(ground().empty_folder.c_str(), 0777);
       return removed;
     },
     0, EACCES},
    {"C-02", "make a link", [] { return undone_by_unlink(::symlink("x", beside("-sym").c_str()), beside("-sym")); }, 0, EACCES},
    {"C-02", "make a FIFO", [] { return undone_by_unlink(::mkfifo(beside("-fifo").c_str(), 0600), beside("-fifo")); }, 0, EACCES},
    {"C-02", "bring a file in by a hard link", [] { return undone_by_unlink(::link(secret(), inside("hard").c_str()), inside("hard")); }, 0,
     EXDEV},
    {"C-02", "carry a file out",
     [] {
       const int fd = ::open(inside("mine").c_str(), O_WRONLY | O_CREAT, 0600);
       if (fd >= 0) ::close(fd);
       return undone_by_unlink(::rename(inside("mine").c_str(), beside("-mine").c_str()), beside("-mine"));
     },
     0, EACCES},
    {"C-02", "attributes and ACLs, which Landlock doesn't mediate",
     [] { return long{::setxattr(ground().folder.c_str(), "user.x", "y", 1, 0)}; }, kAny, EOPNOTSUPP},
    {"C-02", "make a socket where writing is allowed",
     [] { return undone_by_unlink(::mknod(inside("socket").c_str(), S_IFSOCK | 0600, 0), inside("socket")); }, 0, EPERM},
};

TEST(EscapeFiles, NothingBeyondThePolicyIsRead) {
  if (landlock::abi_version() < 1) GTEST_SKIP() << "no Landlock here";
  expect_all(kReads, closed_policy());
}

TEST(EscapeFiles, NothingBeyondThePolicyIsChanged) {
  if (landlock::abi_version() < 3) GTEST_SKIP() << "needs Landlock ABI 3";
  expect_all(kChanges, closed_policy());
}

TEST(EscapeFiles, WhatThePolicyListsWorks) {
  if (landlock::abi_version() < 2) GTEST_SKIP() << "needs Landlock ABI 2";
  expect_works("work folder", closed_policy(), [] {
    const std::string file = inside("file"), folder = inside("folder"), moved = folder + "/moved", fifo = inside("fifo");
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ::write(fd, "x", 1) != 1 || ::ftruncate(fd, 0) != 0 || ::fchmod(fd, 0644) != 0 || ::close(fd) != 0) return errno;
    if (::mkdir(folder.c_str(), 0700) != 0 || ::rename(file.c_str(), moved.c_str()) != 0 || ::mkfifo(fifo.c_str(), 0600) != 0) return errno;
    if (::unlink(moved.c_str()) != 0 || ::rmdir(folder.c_str()) != 0 || ::unlink(fifo.c_str()) != 0) return errno;
    return 0;
  });
  expect_works("devices and the own /proc", closed_policy(), [] {
    for (const char* path : {"/dev/null", "/dev/zero", "/dev/urandom", "/proc/self/status", "/proc/self/maps", "/proc/cpuinfo"}) {
      const int fd = ::open(path, O_RDONLY);
      if (fd < 0) return errno;
      ::close(fd);
    }
    const int null = ::open("/dev/null", O_RDWR);
    return null >= 0 && ::isatty(null) == 0 && errno == ENOTTY ? 0 : errno;
  });
}

// An older kernel's jail: what Landlock can't do there, the file modes and seccomp still do.
TEST(EscapeFiles, EachLandlockAbiKeepsTheReadsOut) {
  const int newest = landlock::abi_version();
  if (newest < 1) GTEST_SKIP() << "no Landlock here";
  for (int abi = 1; abi <= newest; ++abi) {
    const auto read = [] { return ::open(secret(), O_RDONLY) >= 0 ? 0 : errno; };
    const auto write = [] { return ::open(inside("each").c_str(), O_WRONLY | O_CREAT, 0600) >= 0 ? 0 : errno; };
    EXPECT_EQ(run_jailed({.policy = closed_policy(), .max_landlock_abi = abi}, read).code, EACCES) << abi;
    EXPECT_EQ(run_jailed({.policy = closed_policy(), .max_landlock_abi = abi}, write).code, 0) << abi;
  }
}

}  // namespace
}  // namespace podjail::test
