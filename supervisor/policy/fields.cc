#include "policy/fields.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/json_write.h"
#include "base/suggest.h"
#include "base/units.h"
#include "policy/value_checks.h"

namespace podjail {
namespace {

using nlohmann::json;
using Kind = JsonNode::Kind;

/// Where a value stands and where problems with it go.
struct Place {
  const std::string& source;
  std::vector<PolicyProblem>& problems;
  std::string pointer;  // "/limits/wall"
  std::string path;     // "limits.wall"

  [[nodiscard]] Place key(std::string_view name) const {
    return {source, problems, json_pointer(pointer, name), path.empty() ? std::string(name) : path + '.' + std::string(name)};
  }
  [[nodiscard]] Place item(std::size_t index) const {
    return {source, problems, json_pointer(pointer, std::to_string(index)), path + '[' + std::to_string(index) + ']'};
  }
  void problem(int line, int column, const std::string& message) const {
    const std::string prefix = path.empty() ? "" : path + ": ";
    problems.push_back({source, pointer, line, column, prefix + message, prefix.size()});
  }
  bool problem(const JsonNode& at, const std::string& message) const {
    problem(at.line, at.column, message);
    return false;
  }
};

// ---- Kinds of values: how each is read, checked and written. `nullable` only words the message.

struct Flag {};

bool read_value(const JsonNode& node, Flag, bool& out, const Place& place, bool) {
  if (node.kind != Kind::boolean) return place.problem(node, "must be true or false, not " + describe_json(node));
  out = node.boolean;
  return true;
}
json write_value(Flag, bool value) {
  return value;
}

/// A text that `check` accepts.
struct Text {
  std::string (*check)(std::string&);
};

bool read_value(const JsonNode& node, const Text& text, std::string& out, const Place& place, bool) {
  // `--set python.version=3.11` has no quotes that would tell the text from a number.
  const bool bare = node.line == 0 && (node.kind == Kind::number || node.kind == Kind::boolean);
  if (node.kind != Kind::string && !bare) return place.problem(node, "must be a string, not " + describe_json(node));
  std::string value = node.kind == Kind::boolean ? (node.boolean ? "true" : "false") : node.text;
  if (const std::string wrong = text.check(value); !wrong.empty()) return place.problem(node, wrong);
  out = std::move(value);
  return true;
}
json write_value(const Text&, const std::string& value) {
  return value;
}

constexpr std::uint64_t kNoMaximum = std::numeric_limits<std::int64_t>::max();

std::string zero_message(bool nullable) {
  return nullable ? "0 is not a limit; use null for none" : "0 makes no sense here";
}

/// Bytes.
struct Size {
  std::uint64_t min = 1;
  std::string_view why_min;  // completes "64Ki is below the 16Mi …"
  std::uint64_t max = kNoMaximum;
  std::string_view why_max;
};

bool read_value(const JsonNode& node, const Size& size, std::uint64_t& out, const Place& place, bool nullable) {
  if (node.kind != Kind::number && node.kind != Kind::string)
    return place.problem(node, std::string("must be a size such as \"512Mi\" or a number of bytes") + (nullable ? ", or null" : "") +
                                   ", not " + describe_json(node));
  const auto bytes = parse_bytes(node.text);
  if (!bytes) return place.problem(node, bytes.error().message());
  if (*bytes == 0 && size.min > 0) return place.problem(node, zero_message(nullable));
  if (*bytes < size.min)
    return place.problem(node, format_bytes(*bytes) + " is below the " + format_bytes(size.min) + ' ' + std::string(size.why_min));
  if (*bytes > size.max)
    return place.problem(node, format_bytes(*bytes) + " is above the " + format_bytes(size.max) + ' ' + std::string(size.why_max));
  out = *bytes;
  return true;
}
json write_value(const Size&, std::uint64_t value) {
  return format_bytes(value);
}

struct Duration {
  bool zero = false;  // 0 has a meaning
};

bool read_value(const JsonNode& node, const Duration& duration, Millis& out, const Place& place, bool nullable) {
  if (node.kind != Kind::number && node.kind != Kind::string)
    return place.problem(node, std::string("must be a duration such as \"30s\" or a number of seconds") + (nullable ? ", or null" : "") +
                                   ", not " + describe_json(node));
  const auto time = parse_duration(node.text);
  if (!time) return place.problem(node, time.error().message());
  if (time->count() == 0 && !duration.zero) return place.problem(node, zero_message(nullable));
  out = *time;
  return true;
}
// Whole seconds or milliseconds: one unit, so that a reader needs no parser for "1m30s".
json write_value(const Duration&, Millis value) {
  return value.count() % 1000 == 0 ? std::to_string(value.count() / 1000) + 's' : std::to_string(value.count()) + "ms";
}

struct Count {
  std::uint64_t min = 1;
  std::string_view why_min;
  std::uint64_t max = kNoMaximum;
  std::string_view why_max;
};

bool read_value(const JsonNode& node, const Count& count, std::uint64_t& out, const Place& place, bool nullable) {
  if (node.kind != Kind::number)
    return place.problem(node, std::string("must be a whole number") + (nullable ? " or null" : "") + ", not " + describe_json(node));
  if (node.text.starts_with('-')) return place.problem(node, node.text + " is negative");
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(node.text.data(), node.text.data() + node.text.size(), value);
  if (error != std::errc{} || end != node.text.data() + node.text.size())
    return place.problem(node, "must be a whole number, not " + node.text);
  if (value == 0 && count.min > 0) return place.problem(node, zero_message(nullable));
  if (value < count.min)
    return place.problem(node, node.text + " is below the " + std::to_string(count.min) + ' ' + std::string(count.why_min));
  if (value > count.max)
    return place.problem(node, node.text + " is above the " + std::to_string(count.max) + ' ' + std::string(count.why_max));
  out = value;
  return true;
}
json write_value(const Count&, std::uint64_t value) {
  return value;
}

struct Port {};

bool read_value(const JsonNode& node, Port, std::uint16_t& out, const Place& place, bool) {
  std::uint64_t port = 0;
  if (node.kind == Kind::number &&
      std::from_chars(node.text.data(), node.text.data() + node.text.size(), port).ptr == node.text.data() + node.text.size() &&
      port >= 1 && port <= 65535) {
    out = static_cast<std::uint16_t>(port);
    return true;
  }
  return place.problem(node, "must be a port from 1 to 65535, not " + describe_json(node));
}
json write_value(Port, std::uint16_t value) {
  return value;
}

template <class Enum>
struct Choice {
  std::vector<std::pair<std::string_view, Enum>> words;
};

template <class Enum>
bool read_value(const JsonNode& node, const Choice<Enum>& choice, Enum& out, const Place& place, bool) {
  std::vector<std::string_view> names;
  std::string listed;
  for (const auto& [name, value] : choice.words) {
    if (node.kind == Kind::string && node.text == name) {
      out = value;
      return true;
    }
    names.push_back(name);
    listed += (listed.empty() ? "" : ", ") + std::string(name);
  }
  const bool is_text = node.kind == Kind::string;
  return place.problem(node, "must be one of " + listed + ", not " +
                                 (is_text ? '"' + node.text + '"' + did_you_mean(node.text, names) : describe_json(node)));
}
template <class Enum>
json write_value(const Choice<Enum>& choice, Enum value) {
  for (const auto& [name, known] : choice.words)
    if (known == value) return name;
  return nullptr;
}

template <class Item>
struct List {
  Item item;
};

template <class Item, class T>
bool read_value(const JsonNode& node, const List<Item>& list, std::vector<T>& out, const Place& place, bool nullable) {
  if (node.kind != Kind::array)
    return place.problem(node, std::string("must be a list") + (nullable ? " or null" : "") + ", not " + describe_json(node));
  std::vector<T> values;
  bool good = true;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    T value{};
    if (read_value(node.items[i], list.item, value, place.item(i), false))
      values.push_back(std::move(value));
    else
      good = false;
  }
  if (good) out = std::move(values);
  return good;
}
template <class Item, class T>
json write_value(const List<Item>& list, const std::vector<T>& values) {
  json out = json::array();
  for (const T& value : values) out.push_back(write_value(list.item, value));
  return out;
}

/// Keys that the policy's author chooses.
template <class Item>
struct Map {
  std::string (*check_key)(std::string&);
  Item item;
};

template <class Item, class T>
bool read_value(const JsonNode& node, const Map<Item>& map, std::map<std::string, T>& out, const Place& place, bool) {
  if (node.kind != Kind::object) return place.problem(node, "must be an object, not " + describe_json(node));
  for (const JsonMember& member : node.members) {
    const Place at = place.key(member.key);
    std::string key = member.key;
    if (const std::string wrong = map.check_key(key); !wrong.empty()) {
      at.problem(member.line, member.column, wrong);
      continue;
    }
    T value{};
    if (read_value(member.value, map.item, value, at, false)) out[key] = std::move(value);
  }
  return true;
}
template <class Item, class T>
json write_value(const Map<Item>& map, const std::map<std::string, T>& values) {
  json out = json::object();
  for (const auto& [key, value] : values) out[key] = write_value(map.item, value);
  return out;
}

template <class Rule, class T>
bool read_value(const JsonNode& node, const Rule& rule, std::optional<T>& out, const Place& place, bool) {
  if (node.kind == Kind::null) {
    out = std::nullopt;
    return true;
  }
  T value{};
  if (!read_value(node, rule, value, place, true)) return false;
  out = std::move(value);
  return true;
}
template <class Rule, class T>
json write_value(const Rule& rule, const std::optional<T>& value) {
  return value ? write_value(rule, *value) : json(nullptr);
}

// ---- The table: every key is named here once.

struct Field {
  std::string_view path;
  std::function<void(const JsonNode&, Policy&, const Place&)> read;
  std::function<json(const Policy&)> write;  // none: resolved before, no part of the effective policy
};

template <class Get, class Rule>
Field field(std::string_view path, Get get, const Rule& rule) {
  return {path,
          [get, rule](const JsonNode& node, Policy& policy, const Place& place) { read_value(node, rule, get(policy), place, false); },
          [get, rule](const Policy& policy) { return write_value(rule, get(policy)); }};
}

void check_schema(const JsonNode& node, Policy&, const Place& place) {
  if (node.kind == Kind::string && node.text == kPolicySchema) return;
  place.problem(node, "must be \"" + std::string(kPolicySchema) + "\", not " +
                          (node.kind == Kind::string ? '"' + node.text + '"' : describe_json(node)));
}

void check_extends(const JsonNode& node, Policy&, const Place& place) {
  if (node.line == 0)
    place.problem(node, "can't be set: choose the policy by its name or file instead");
  else if (node.kind != Kind::string || node.text.empty())
    place.problem(node, "must be the name of a built-in policy or the path of a policy file, not " + describe_json(node));
}

constexpr std::uint64_t kMiB = 1U << 20;

std::vector<Field> make_fields() {
  using P = Policy;
  const Choice<Severity> severity{{{"off", Severity::off}, {"warn", Severity::warn}, {"error", Severity::error}}};
  const List<Text> paths{{check::absolute_path}}, modules{{check::module_name}}, syscalls{{check::syscall_name}};
  const List<Port> ports{};
  // A file that podjail reads whole and a message between its processes (wire.h: 64 MiB) bound these three.
  const Size script{1, "", 64 * kMiB, "that podjail can check"}, text{0, "", 16 * kMiB, "that fit a result"},
      returned{4, "that \"null\" needs", 32 * kMiB, "that fit a result"};
  const Size limit{}, kept{.min = 0}, memory{16 * kMiB, "that Python needs"};
  const Count any{.min = 0}, living{.max = 4'194'304, .why_max = "that Linux can number"};    // PID_MAX_LIMIT, proc(5)
  const Count open_files{16, "that Python needs", 1'048'576, "that Linux gives by default"};  // fs.nr_open, proc(5)
  return {
      {"schema", check_schema, [](const P&) { return json(kPolicySchema); }},
      {"extends", check_extends, nullptr},
      field(
          "name", [](auto& p) -> auto& { return p.name; }, Text{check::policy_name}),

      field(
          "validation.enabled", [](auto& p) -> auto& { return p.validation.enabled; }, Flag{}),
      field(
          "validation.imports.deny", [](auto& p) -> auto& { return p.validation.deny_imports; }, modules),
      field(
          "validation.imports.allow", [](auto& p) -> auto& { return p.validation.allow_imports; }, modules),
      field(
          "validation.builtins.deny", [](auto& p) -> auto& { return p.validation.deny_builtins; }, List<Text>{{check::identifier}}),
      field(
          "validation.rules", [](auto& p) -> auto& { return p.validation.rules; }, Map<Choice<Severity>>{check::rule_id, severity}),
      field(
          "validation.max_script", [](auto& p) -> auto& { return p.validation.max_script; }, script),
      field(
          "validation.suppressions", [](auto& p) -> auto& { return p.validation.suppressions; }, Flag{}),

      field(
          "audit.action", [](auto& p) -> auto& { return p.audit_action; },
          Choice<P::AuditAction>{{{"off", P::AuditAction::off}, {"record", P::AuditAction::record}, {"deny", P::AuditAction::deny}}}),
      field(
          "python.version", [](auto& p) -> auto& { return p.python.version; }, Text{check::python_version}),
      field(
          "python.paths", [](auto& p) -> auto& { return p.python.paths; }, paths),
      field(
          "idempotent", [](auto& p) -> auto& { return p.idempotent; }, Flag{}),

      field(
          "limits.wall", [](auto& p) -> auto& { return p.limits.wall; }, Duration{}),
      field(
          "limits.grace", [](auto& p) -> auto& { return p.limits.grace; }, Duration{.zero = true}),
      field(
          "limits.cpu", [](auto& p) -> auto& { return p.limits.cpu; }, Duration{}),
      field(
          "limits.memory", [](auto& p) -> auto& { return p.limits.memory; }, memory),
      field(
          "limits.processes", [](auto& p) -> auto& { return p.limits.processes; }, living),
      field(
          "limits.threads", [](auto& p) -> auto& { return p.limits.threads; }, living),
      field(
          "limits.open_files", [](auto& p) -> auto& { return p.limits.open_files; }, open_files),
      field(
          "limits.file_size", [](auto& p) -> auto& { return p.limits.file_size; }, limit),
      field(
          "limits.scratch", [](auto& p) -> auto& { return p.limits.scratch; }, limit),
      field(
          "limits.scratch_files", [](auto& p) -> auto& { return p.limits.scratch_files; }, Count{}),
      field(
          "limits.stdout", [](auto& p) -> auto& { return p.limits.stdout_kept; }, kept),
      field(
          "limits.stderr", [](auto& p) -> auto& { return p.limits.stderr_kept; }, kept),
      field(
          "limits.output", [](auto& p) -> auto& { return p.limits.output; }, limit),
      field(
          "limits.artifact_bytes", [](auto& p) -> auto& { return p.limits.artifact_bytes; }, kept),
      field(
          "limits.artifact_files", [](auto& p) -> auto& { return p.limits.artifact_files; }, any),
      field(
          "limits.return_value", [](auto& p) -> auto& { return p.limits.return_value; }, returned),

      field(
          "filesystem.read", [](auto& p) -> auto& { return p.filesystem.read; }, paths),
      field(
          "filesystem.write", [](auto& p) -> auto& { return p.filesystem.write; }, paths),
      field(
          "filesystem.execute", [](auto& p) -> auto& { return p.filesystem.execute; }, paths),
      field(
          "network.connect_tcp", [](auto& p) -> auto& { return p.network.connect_tcp; }, ports),
      field(
          "network.bind_tcp", [](auto& p) -> auto& { return p.network.bind_tcp; }, ports),

      field(
          "syscalls.base", [](auto& p) -> auto& { return p.syscalls.base; },
          Choice<P::SyscallBase>{{{"python", P::SyscallBase::python}, {"exec", P::SyscallBase::exec}}}),
      field(
          "syscalls.allow", [](auto& p) -> auto& { return p.syscalls.allow; }, syscalls),
      field(
          "syscalls.deny", [](auto& p) -> auto& { return p.syscalls.deny; }, syscalls),

      field(
          "environment.pass", [](auto& p) -> auto& { return p.environment.pass; }, List<Text>{{check::env_pattern}}),
      field(
          "environment.set", [](auto& p) -> auto& { return p.environment.set; }, Map<Text>{check::env_name, {check::env_value}}),

      field(
          "isolation.require", [](auto& p) -> auto& { return p.isolation.require; }, List<Text>{{check::layer_name}}),
      field(
          "isolation.namespaces", [](auto& p) -> auto& { return p.isolation.namespaces; },
          Choice<P::Namespaces>{
              {{"never", P::Namespaces::never}, {"if-available", P::Namespaces::if_available}, {"always", P::Namespaces::always}}}),
      field(
          "result.text", [](auto& p) -> auto& { return p.result_text; }, text),
  };
}

const std::vector<Field>& fields() {
  static const std::vector<Field> table = make_fields();
  return table;
}

// What may stand directly under `path` ("" is the document): "limits" -> wall, grace, …
std::vector<std::string_view> children(std::string_view path) {
  std::vector<std::string_view> names;
  for (const Field& f : fields()) {
    std::string_view rest = f.path;
    if (!path.empty()) {
      if (!rest.starts_with(path) || rest.size() <= path.size() || rest[path.size()] != '.') continue;
      rest.remove_prefix(path.size() + 1);
    }
    const std::string_view name = rest.substr(0, rest.find('.'));
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

std::string unknown_key(std::string_view section, std::string_view key) {
  const auto names = children(section);
  for (const Field& f : fields())
    if (section.empty() && f.path == key)
      return "no such key; each dot is an object of its own: {\"" + std::string(key.substr(0, key.find('.'))) + "\": {…}}";
  std::string hint;
  if (const auto near = nearest(key, names))
    hint = "; did you mean \"" + (section.empty() ? "" : std::string(section) + '.') + std::string(*near) + "\"?";
  for (const Field& f : fields())  // the right key in the wrong section
    if (hint.empty() && f.path.ends_with(key) && f.path.size() > key.size() && f.path[f.path.size() - key.size() - 1] == '.')
      hint = "; did you mean \"" + std::string(f.path) + "\"?";
  return "no such key" + hint;
}

void read_section(const JsonNode& node, Policy& policy, const Place& place) {
  for (const JsonMember& member : node.members) {
    const Place at = place.key(member.key);
    const bool plain = member.key.find('.') == std::string::npos;  // "limits.wall" as one key is none of ours
    const auto known = std::find_if(fields().begin(), fields().end(), [&](const Field& f) { return plain && f.path == at.path; });
    if (known != fields().end())
      known->read(member.value, policy, at);
    else if (!plain || member.key.empty() || children(at.path).empty())
      at.problem(member.line, member.column, unknown_key(place.path, member.key));
    else if (member.value.kind != Kind::object)
      at.problem(member.value, "must be an object, not " + describe_json(member.value));
    else
      read_section(member.value, policy, at);
  }
}

}  // namespace

void read_fields(const JsonNode& object, const std::string& source, Policy& policy, std::vector<PolicyProblem>& problems) {
  const Place place{source, problems, "", ""};
  if (object.kind != Kind::object)
    place.problem(object, "a policy must be an object, not " + describe_json(object));
  else
    read_section(object, policy, place);
}

std::string write_fields(const Policy& policy) {
  json document = json::object();
  for (const Field& f : fields()) {
    if (!f.write) continue;
    json* at = &document;
    for (std::string_view rest = f.path; !rest.empty();) {
      const auto dot = rest.find('.');
      at = &(*at)[std::string(rest.substr(0, dot))];
      rest = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
    }
    *at = f.write(policy);
  }
  return write_json(document);
}

}  // namespace podjail
