#pragma once
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <array>
#include <cstdint>
#include <span>

namespace podjail::test {

/// Runs a seccomp program as the kernel would (net/core/filter.c, the subset that kernel/seccomp.c lets through) and returns SECCOMP_RET_*.
/// Throws where the kernel would refuse to load it.
std::uint32_t evaluate(std::span<const sock_filter> program, const seccomp_data& data);

/// Of two filters the most restrictive action counts, of equal actions that of the filter loaded last (seccomp(2)).
std::uint32_t most_restrictive(std::uint32_t first_loaded, std::uint32_t last_loaded);

seccomp_data call(int number, std::array<std::uint64_t, 6> args = {}, std::uint32_t arch = AUDIT_ARCH_X86_64);

}  // namespace podjail::test
