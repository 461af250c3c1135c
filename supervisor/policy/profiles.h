#pragma once
#include <optional>
#include <span>
#include <string_view>

namespace podjail {

struct Profile {
  std::string_view name;     ///< "default"
  std::string_view summary;  ///< one line for `policy list`
  std::string_view text;     ///< the file policies/NAME.json as it stands
};

/// The built-in profiles: the files of policies/, embedded at build time, sorted by name.
std::span<const Profile> builtin_profiles();
std::optional<Profile> find_profile(std::string_view name);

/// The shipped JSON Schemas (policies/schema/*.json): "policy", "result".
std::optional<std::string_view> find_schema(std::string_view name);

}  // namespace podjail
