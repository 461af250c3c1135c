#include "sys/proc_read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <thread>

namespace podjail {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(ProcRead, ParsesTheFilesOfAMapsFile) {
  const auto files = parse_maps(
      "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus daemon\n"
      "7f00-7f01 rw-p 00000000 00:00 0\n"
      "7f02-7f03 rw-s 00000000 00:17 4294967297                    /dev/shm/a b (deleted)\n"
      "7ffc-7ffd rw-p 00000000 00:00 0                          [stack]\nnonsense\n");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].device, makedev(8, 2));
  EXPECT_EQ(files[1].device, makedev(0, 0x17));
  EXPECT_EQ(files[1].inode, 4294967297U);
}

TEST(ProcRead, SharedMemoryWithoutANameIsSummedByItsShare) {
  EXPECT_EQ(parse_shared_pss(
                "7f00-7f01 rw-s 00000000 00:01 12    /dev/zero (deleted)\nSize:  8 kB\nPss:                 100 kB\nPss_Dirty: 7 kB\n"
                "7f02-7f03 rw-s 00000000 00:17 13    /dev/shm/named\nPss:  1000 kB\n"
                "7f04-7f05 rw-s 00000000 00:01 14    /memfd:x (deleted)\nPss:   20 kB\n"
                "7f06-7f07 rw-p 00000000 00:00 0\nPss:  50 kB\n"
                "7f08-7f09 rw-s 00000000 00:01 15    [anon_shmem:name]\nPss:   3 kB\nVmFlags: rd wr\n"),
            123U * 1024);
  EXPECT_EQ(parse_shared_pss(""), 0U);
}

TEST(ProcRead, OpensAFileOfAProcessThatIsThere) {
  EXPECT_TRUE(open_proc(::getpid(), "status"));
  EXPECT_EQ(open_proc(::getpid(), "nothing").error().err, ENOENT);
  EXPECT_EQ(open_proc(4194305, "status").error().err, ESRCH);
  EXPECT_FALSE(mapped_files(::getpid()).empty());
}

TEST(ProcRead, ParsesAStatusFile) {
  const ProcStatus status = parse_proc_status(
      "Name:\tpython3\nState:\tS (sleeping)\nTgid:\t41\nPPid:\t7\nRssAnon:\t   1234 kB\nRssShmem:\t      8 kB\nVmSwap:\t 16 kB\nVmData:\t "
      "2048 kB\n"
      "Threads:\t3\nCapInh:\t0000000000000000\nCapPrm:\t000001ffffffffff\nCapEff:\t00000000a80425fb\nCapBnd:\t0000000000000001\n"
      "CapAmb:\t0000000000000002\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n");
  EXPECT_EQ(status.tgid, 41);
  EXPECT_EQ(status.ppid, 7);
  EXPECT_EQ(status.state, 'S');
  EXPECT_EQ(status.threads, 3);
  EXPECT_EQ(status.seccomp_mode, 2);
  EXPECT_EQ(status.seccomp_filters, 3);
  EXPECT_TRUE(status.no_new_privs);
  EXPECT_EQ(status.cap_permitted, 0x1ffffffffffU);
  EXPECT_EQ(status.cap_effective, 0xa80425fbU);
  EXPECT_EQ(status.cap_bounding, 1U);
  EXPECT_EQ(status.cap_ambient, 2U);
  EXPECT_EQ(status.rss_anon, 1234U * 1024);
  EXPECT_EQ(status.rss_shmem, 8U * 1024);
  EXPECT_EQ(status.vm_swap, 16U * 1024);
  EXPECT_EQ(status.vm_data, 2048U * 1024);
}

TEST(ProcRead, TakesNonsenseWithoutHarm) {
  for (const char* text : {"", "\n\n", "Tgid", "Tgid:", "Tgid:\tx\n", "State:\t\n", "VmData:\t99999999999999999999999999 kB"}) {
    EXPECT_EQ(parse_proc_status(text).threads, 0) << text;
  }
}

TEST(ProcRead, ReadsItself) {
  const auto status = read_proc_status(::getpid());
  ASSERT_TRUE(status);
  EXPECT_EQ(status->tgid, ::getpid());
  EXPECT_EQ(status->ppid, ::getppid());
  EXPECT_GT(status->rss_anon, 0U);
}

TEST(ProcRead, NamesAMissingProcess) {
  const auto status = read_proc_status(1 << 30);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().err, ESRCH);
}

TEST(ProcRead, FindsThreads) {
  EXPECT_THAT(thread_ids(::getpid()), ElementsAre(::getpid()));
  std::thread other([] {
    EXPECT_EQ(thread_ids(::getpid()).size(), 2U);
    const auto status = read_proc_status(::gettid());  // a TID is fine, too
    EXPECT_TRUE(status && status->tgid == ::getpid());
  });
  other.join();
}

// A name that imitates the fields after it must not hide a process from the pass that kills the tree.
TEST(ProcRead, FindsDescendantsWhateverTheirName) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NAME, ") Z 1 1\n(", 0, 0, 0);
    const pid_t grandchild = ::fork();
    if (grandchild != 0 && ::write(ready[1], &grandchild, sizeof grandchild) < 0) ::_exit(1);
    ::sleep(10);  // bounded: nothing is left over when the test fails
  }
  pid_t grandchild = 0;
  ASSERT_EQ(::read(ready[0], &grandchild, sizeof grandchild), static_cast<ssize_t>(sizeof grandchild));
  EXPECT_THAT(descendants(::getpid()), UnorderedElementsAre(child, grandchild));
  EXPECT_THAT(descendants(child), ElementsAre(grandchild));
  EXPECT_TRUE(read_cpu_times(child));
  ::kill(grandchild, SIGKILL);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(ProcRead, CountsCpuTimeWithWaitedForChildren) {
  const auto before = read_cpu_times(::getpid());
  ASSERT_TRUE(before);
  const pid_t child = ::fork();
  if (child == 0) {
    while (std::clock() < CLOCKS_PER_SEC / 10) {
    }
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  const auto after = read_cpu_times(::getpid());
  ASSERT_TRUE(after);
  EXPECT_GE(after->user_ns + after->system_ns, before->user_ns + before->system_ns + 70'000'000);
}

TEST(ProcRead, ReadsWholeFiles) {
  const auto text = read_proc_file("/proc/self/maps");
  ASSERT_TRUE(text);
  EXPECT_GT(text->size(), 100U);
  EXPECT_EQ(text->back(), '\n');
  EXPECT_EQ(read_proc_file("/proc/no-such-file").error().subject, "/proc/no-such-file");
}

}  // namespace
}  // namespace podjail
