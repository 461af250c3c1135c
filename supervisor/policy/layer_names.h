#pragma once
#include <array>
#include <string_view>

namespace podjail {

/// What `isolation.require` may name and what `isolation.layers` of a result reports; isolation/ gives each its meaning.
inline constexpr std::array<std::string_view, 9> kLayerNames = {"no_new_privs",     "capabilities",    "rlimits", "landlock.filesystem",
                                                                "landlock.network", "landlock.scopes", "seccomp", "seccomp.notify",
                                                                "namespaces"};

}  // namespace podjail
