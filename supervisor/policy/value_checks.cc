#include "policy/value_checks.h"

#include <algorithm>
#include <string_view>

#include "base/suggest.h"
#include "policy/layer_names.h"

namespace podjail::check {
namespace {

// ASCII only: std::isalpha and its kin follow the locale.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_letter(char c) {
  return is_lower(c) || (c >= 'A' && c <= 'Z');
}

std::string quoted(std::string_view value) {
  return '"' + std::string(value) + '"';
}

// Python identifiers, where every non-ASCII character is let through: which of them Python takes depends on its Unicode version.
bool is_identifier(std::string_view text) {
  if (text.empty() || is_digit(text.front())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80; });
}

bool is_env_name(std::string_view text) {
  if (text.empty() || is_digit(text.front())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

struct Reserved {
  std::string_view prefix, whose;
};
constexpr Reserved kReserved[] = {{"PODJAIL_", "podjail's own"}, {"LD_", "the dynamic loader's"}};

}  // namespace

std::string policy_name(std::string& value) {
  const bool good =
      !value.empty() && value.size() <= 63 && (is_letter(value.front()) || is_digit(value.front())) &&
      std::all_of(value.begin(), value.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '.' || c == '_' || c == '-'; });
  return good ? "" : quoted(value) + " is not a name: 1 to 63 letters, digits, '.', '_' and '-', the first a letter or digit";
}

std::string module_name(std::string& value) {
  std::string_view rest = value;
  while (true) {
    const auto dot = rest.find('.');
    if (!is_identifier(rest.substr(0, dot))) return quoted(value) + " is not a module name such as \"socket\" or \"http.server\"";
    if (dot == std::string_view::npos) return "";
    rest.remove_prefix(dot + 1);
  }
}

std::string identifier(std::string& value) {
  return is_identifier(value) ? "" : quoted(value) + " is not a name such as \"eval\"";
}

std::string rule_id(std::string& value) {
  const bool good = value.size() == 5 && value.starts_with("PJ") && std::all_of(value.begin() + 2, value.end(), is_digit);
  return good ? "" : quoted(value) + " is not a rule id such as \"PJ101\"";
}

std::string layer_name(std::string& value) {
  if (std::ranges::find(kLayerNames, value) != kLayerNames.end()) return "";
  return quoted(value) + " is not a layer" + did_you_mean(value, kLayerNames);
}

std::string syscall_name(std::string& value) {
  const bool good =
      !value.empty() && std::all_of(value.begin(), value.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
  return good ? "" : quoted(value) + " is not the kernel's name of a system call such as \"openat\"";
}

std::string python_version(std::string& value) {
  const bool good = (value.size() == 3 || value.size() == 4) && value.starts_with("3.") &&
                    std::all_of(value.begin() + 2, value.end(), is_digit) && (value.size() == 3 || value[2] != '0');
  return good ? "" : quoted(value) + " is not a Python version such as \"3.11\"";
}

std::string absolute_path(std::string& value) {
  if (value.find('\0') != std::string::npos) return "the path has a NUL";
  if (!value.starts_with('/')) return quoted(value) + " is not an absolute path";
  std::string normal;
  for (std::string_view rest = value; !rest.empty();) {
    const auto start = rest.find_first_not_of('/');
    if (start == std::string_view::npos) break;
    rest.remove_prefix(start);
    const std::string_view part = rest.substr(0, rest.find('/'));
    // Where ".." leads depends on links, so that such a path doesn't say what it opens.
    if (part == "." || part == "..") return quoted(value) + " has a \"" + std::string(part) + "\" part";
    normal += '/';
    normal += part;
    rest.remove_prefix(part.size());
  }
  value = normal.empty() ? "/" : normal;
  return "";
}

std::string env_name(std::string& value) {
  if (!is_env_name(value)) return quoted(value) + " is not the name of an environment variable";
  for (const auto& [prefix, whose] : kReserved)
    if (value.starts_with(prefix)) return value + " is " + std::string(whose);
  return "";
}

std::string env_pattern(std::string& value) {
  if (!value.ends_with('*')) return env_name(value);
  const std::string_view stem = std::string_view(value).substr(0, value.size() - 1);
  if (!stem.empty() && !is_env_name(stem))
    return quoted(value) + " is not the name of an environment variable; a * may stand at its end only";
  for (const auto& [prefix, whose] : kReserved)
    if (stem.starts_with(prefix) || prefix.starts_with(stem))
      return quoted(value) + " takes in " + std::string(prefix) + "*, which is " + std::string(whose);
  return "";
}

std::string env_value(std::string& value) {
  return value.find('\0') == std::string::npos ? "" : "the value has a NUL";
}

}  // namespace podjail::check
