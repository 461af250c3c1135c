#include <seccomp.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "base/suggest.h"
#include "isolation/syscall_groups.h"

namespace podjail {
namespace {

struct OwnNumber {
  std::string_view name;
  int number;
};

// Calls that are newer than libseccomp 2.5.4 (arch/x86/entry/syscalls/syscall_64.tbl of Linux 6.19).
constexpr OwnNumber kOwnNumbers[] = {
    {"uretprobe", 335},        {"uprobe", 336},        {"cachestat", 451},         {"fchmodat2", 452},
    {"map_shadow_stack", 453}, {"futex_wake", 454},    {"futex_wait", 455},        {"futex_requeue", 456},
    {"statmount", 457},        {"listmount", 458},     {"lsm_get_self_attr", 459}, {"lsm_set_self_attr", 460},
    {"lsm_list_modules", 461}, {"mseal", 462},         {"setxattrat", 463},        {"getxattrat", 464},
    {"listxattrat", 465},      {"removexattrat", 466}, {"open_tree_attr", 467},    {"file_getattr", 468},
    {"file_setattr", 469},     {"listns", 470},
};

}  // namespace

int syscall_number(const std::string& name) {
  const int number = seccomp_syscall_resolve_name(name.c_str());
  if (number >= 0) return number;  // below: libseccomp's pseudo numbers for calls that other ABIs have
  const auto own = std::ranges::find(kOwnNumbers, name, &OwnNumber::name);
  return own != std::end(kOwnNumbers) ? own->number : -1;
}

std::string_view syscall_name(int number) {
  // Filled as they are asked for: under a flood of denied calls the same few names are wanted again and again.
  static std::array<std::string, kLastKnown + 1> cache;
  if (number < 0 || static_cast<std::uint32_t>(number) > kLastKnown) return {};
  std::string& name = cache[static_cast<std::size_t>(number)];
  if (!name.empty()) return name;
  const std::unique_ptr<char, decltype(&std::free)> resolved(seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number), &std::free);
  if (resolved) {
    name = resolved.get();
  } else if (const auto own = std::ranges::find(kOwnNumbers, number, &OwnNumber::number); own != std::end(kOwnNumbers)) {
    name = own->name;
  }
  return name;
}

std::string nearest_syscall(std::string_view name) {
  std::vector<std::string_view> known;
  for (int number = 0; number <= static_cast<int>(kLastKnown); ++number) {
    if (const std::string_view each = syscall_name(number); !each.empty()) known.push_back(each);
  }
  return std::string(nearest(name, known).value_or(""));
}

}  // namespace podjail
