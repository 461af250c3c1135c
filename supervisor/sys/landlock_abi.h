#pragma once
#include <cstdint>

// Landlock's user-space ABI by our own constants (include/uapi/linux/landlock.h): the header of the build machine may end many ABIs before
// the kernel that podjail runs on. What each ABI added: 2 REFER, 3 TRUNCATE, 4 TCP, 5 IOCTL_DEV, 6 scopes, 9 RESOLVE_UNIX (7 and 8: only
// flags).
namespace podjail::landlock {

inline constexpr std::uint64_t kExecute = 1ULL << 0;
inline constexpr std::uint64_t kWriteFile = 1ULL << 1;
inline constexpr std::uint64_t kReadFile = 1ULL << 2;
inline constexpr std::uint64_t kReadDir = 1ULL << 3;
inline constexpr std::uint64_t kRemoveDir = 1ULL << 4;
inline constexpr std::uint64_t kRemoveFile = 1ULL << 5;
inline constexpr std::uint64_t kMakeChar = 1ULL << 6;
inline constexpr std::uint64_t kMakeDir = 1ULL << 7;
inline constexpr std::uint64_t kMakeReg = 1ULL << 8;
inline constexpr std::uint64_t kMakeSock = 1ULL << 9;
inline constexpr std::uint64_t kMakeFifo = 1ULL << 10;
inline constexpr std::uint64_t kMakeBlock = 1ULL << 11;
inline constexpr std::uint64_t kMakeSym = 1ULL << 12;
inline constexpr std::uint64_t kRefer = 1ULL << 13;        ///< ABI 2; below it renaming and linking across folders is always refused
inline constexpr std::uint64_t kTruncate = 1ULL << 14;     ///< ABI 3; below it truncate(2) is not mediated
inline constexpr std::uint64_t kIoctlDev = 1ULL << 15;     ///< ABI 5
inline constexpr std::uint64_t kResolveUnix = 1ULL << 16;  ///< ABI 9

inline constexpr std::uint64_t kBindTcp = 1ULL << 0;     ///< ABI 4
inline constexpr std::uint64_t kConnectTcp = 1ULL << 1;  ///< ABI 4

inline constexpr std::uint64_t kScopeAbstractUnix = 1ULL << 0;  ///< ABI 6
inline constexpr std::uint64_t kScopeSignal = 1ULL << 1;        ///< ABI 6

/// The rights that a rule on a non-directory may carry; any other is EINVAL.
inline constexpr std::uint64_t kFileRights = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDev | kResolveUnix;

/// Every right that `abi` knows.
constexpr std::uint64_t fs_rights(int abi) {
  if (abi < 1) return 0;
  std::uint64_t rights = (1ULL << 13) - 1;
  if (abi >= 2) rights |= kRefer;
  if (abi >= 3) rights |= kTruncate;
  if (abi >= 5) rights |= kIoctlDev;
  if (abi >= 9) rights |= kResolveUnix;
  return rights;
}
constexpr std::uint64_t net_rights(int abi) {
  return abi >= 4 ? kBindTcp | kConnectTcp : 0;
}
constexpr std::uint64_t scopes(int abi) {
  return abi >= 6 ? kScopeAbstractUnix | kScopeSignal : 0;
}

/// struct landlock_ruleset_attr as of ABI 6. An older kernel takes it where the fields that it doesn't know are zero.
struct RulesetAttr {
  std::uint64_t handled_fs = 0, handled_net = 0, scoped = 0;
};

/// struct landlock_path_beneath_attr
struct __attribute__((packed)) PathBeneathAttr {
  std::uint64_t allowed_access = 0;
  std::int32_t parent_fd = -1;
};

/// struct landlock_net_port_attr; `port` in host order
struct NetPortAttr {
  std::uint64_t allowed_access = 0, port = 0;
};

}  // namespace podjail::landlock
