#include "policy/parse.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>
#include <ranges>
#include <system_error>
#include <utility>

#include "base/json_read.h"
#include "base/sha256.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "policy/fields.h"
#include "policy/profiles.h"
#include "policy/value_checks.h"
#include "sys/files.h"

namespace podjail {
namespace {

constexpr std::size_t kMaxExtends = 8;
constexpr std::string_view kBasePolicy = "default";  // what a policy without `extends` builds on, so that every key has a value

/// One document of a chain of `extends`, before its fields are read.
struct Document {
  std::string source;                 // for problems: a path as it was given, "default.json", "<stdin>"
  std::string identity;               // finds cycles: the built-in's name, or the real path
  std::optional<std::string> folder;  // what relative paths in `extends` start from; nullopt: they are refused
  bool built_in = false;
  JsonDocument json;
  std::vector<PolicyProblem> problems;
};

bool names_a_file(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".json");
}

Document make_document(std::string source, std::string_view text) {
  Document document;
  document.source = std::move(source);
  document.json = read_json(text);
  for (JsonProblem& problem : document.json.problems)
    document.problems.push_back({document.source, std::move(problem.pointer), problem.line, problem.column, std::move(problem.message)});
  return document;
}

// About a key of the document itself.
void add_problem(Document& document, const std::string& key, int line, int column, const std::string& message) {
  document.problems.push_back({document.source, '/' + key, line, column, key + ": " + message, key.size() + 2});
}

Expected<std::string> read_policy_file(const std::string& path) {
  // O_NONBLOCK: a FIFO must not hold podjail up before anything bounds it.
  const Fd file = TRY(open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail("read", errno, path);
  if (!S_ISREG(status.st_mode)) return fail(S_ISDIR(status.st_mode) ? "is a folder, not a policy file" : "is not a regular file");
  return read_all(file.get(), kJsonMaxBytes);
}

std::string profile_names() {
  std::string names;
  for (const Profile& profile : builtin_profiles()) names += (names.empty() ? "" : ", ") + std::string(profile.name);
  return names;
}

// A built-in name, or a file where `name` looks like a path.
Expected<Document> open_document(const std::string& name, bool try_file_of_any_name) {
  if (!names_a_file(name)) {
    if (const auto profile = find_profile(name)) {
      Document document = make_document(name + ".json", profile->text);
      document.identity = name;
      document.built_in = true;
      return document;
    }
    std::error_code ignored;
    if (!try_file_of_any_name || !std::filesystem::exists(name, ignored)) {
      std::vector<std::string_view> names;
      for (const Profile& profile : builtin_profiles()) names.push_back(profile.name);
      return fail("no built-in policy \"" + name + "\"" + did_you_mean(name, names) + " (built in: " + profile_names() +
                  "; a file's name ends in .json or has a /)");
    }
  }
  const std::string text = TRY(read_policy_file(name));
  Document document = make_document(name, text);
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(name, error);
  document.identity = error ? name : real.string();
  document.folder = std::filesystem::path(name).parent_path().string();
  return document;
}

struct Extends {
  std::string name;
  int line = 0, column = 0;
};

// The policy that `document` builds on; nullopt: none, or `extends` itself is wrong, which read_fields reports.
std::optional<Extends> extends_of(const Document& document) {
  if (!document.json.root || document.json.root->kind != JsonNode::Kind::object) return std::nullopt;
  if (const JsonNode* node = document.json.root->find("extends")) {
    if (node->kind != JsonNode::Kind::string || node->text.empty()) return std::nullopt;
    return Extends{node->text, node->line, node->column};
  }
  if (document.built_in && document.identity == kBasePolicy) return std::nullopt;
  return Extends{std::string(kBasePolicy)};
}

// From the named policy to the one that it builds on in the end. Stops where a base can't be had, with the problem at the `extends` that
// asks for it.
std::vector<Document> load_chain(Document first) {
  std::vector<Document> chain;
  chain.push_back(std::move(first));
  while (auto base = extends_of(chain.back())) {
    Document& from = chain.back();
    const auto problem = [&](const std::string& message) { add_problem(from, "extends", base->line, base->column, message); };
    if (chain.size() > kMaxExtends) {
      problem("more than " + std::to_string(kMaxExtends) + " policies deep");
      break;
    }
    if (names_a_file(base->name) && !base->name.starts_with('/')) {
      if (!from.folder) {
        problem("a relative path needs a policy file to start from");
        break;
      }
      base->name = (std::filesystem::path(*from.folder) / base->name).string();
      if (!names_a_file(base->name)) base->name = "./" + base->name;
    }
    auto next = open_document(base->name, false);
    if (!next) {
      problem(next.error().subject.empty() && names_a_file(base->name) ? base->name + ' ' + next.error().message()
                                                                       : next.error().message());
      break;
    }
    const auto same = std::find_if(chain.begin(), chain.end(), [&](const Document& seen) { return seen.identity == next->identity; });
    if (same != chain.end()) {
      problem("\"" + base->name + "\" extends this policy in turn");
      break;
    }
    chain.push_back(std::move(*next));
  }
  return chain;
}

void check_has_schema(Document& document) {
  const auto& root = document.json.root;
  if (root && root->kind == JsonNode::Kind::object && root->find("schema") == nullptr)
    add_problem(document, "schema", root->line, root->column, "is missing: write \"schema\": \"" + std::string(kPolicySchema) + "\"");
}

// What a policy is called that does not say so itself: by its file, "/etc/podjail/my-team.json" -> "my-team".
std::string default_name(const Document& document) {
  std::string name = std::filesystem::path(document.source).stem().string();
  return document.folder && check::policy_name(name).empty() ? name : "custom";
}

void clear_positions(JsonNode& node) {
  node.line = node.column = 0;
  for (JsonNode& item : node.items) clear_positions(item);
  for (JsonMember& member : node.members) {
    member.line = member.column = 0;
    clear_positions(member.value);
  }
}

// "limits.wall=5s" becomes {"limits": {"wall": "5s"}}, read like any document.
void apply_set(const std::string& set, Policy& policy, std::vector<PolicyProblem>& problems) {
  const std::string source = "--set " + std::string(utf8_prefix(set, 120)) + (set.size() > 120 ? "…" : "");
  const auto equals = set.find('=');
  const std::string_view path = std::string_view(set).substr(0, equals);
  if (equals == std::string::npos || path.empty() || path.starts_with('.') || path.ends_with('.') ||
      path.find("..") != std::string_view::npos) {
    problems.push_back({source, "", 0, 0, "write it as PATH=VALUE, such as limits.wall=5s"});
    return;
  }
  const std::string value = set.substr(equals + 1);
  if (find_invalid_utf8(set)) {
    problems.push_back({source, "", 0, 0, "is not UTF-8"});
    return;
  }
  JsonDocument json = read_json(value);
  JsonNode node;
  if (json.root) {
    for (const JsonProblem& problem : json.problems) problems.push_back({source, problem.pointer, 0, 0, problem.message});
    if (!json.problems.empty()) return;
    node = std::move(*json.root);
    clear_positions(node);
  } else {
    node.kind = JsonNode::Kind::string;
    node.text = value;
  }
  for (std::string_view rest = path; !rest.empty();) {  // from the last part outwards
    const auto dot = rest.rfind('.');
    JsonNode outer;
    outer.kind = JsonNode::Kind::object;
    outer.members.push_back({std::string(rest.substr(dot == std::string_view::npos ? 0 : dot + 1)), 0, 0, std::move(node)});
    node = std::move(outer);
    rest = dot == std::string_view::npos ? "" : rest.substr(0, dot);
  }
  read_fields(node, source, policy, problems);
}

// And one for each place: what the JSON reader says of it comes first.
std::vector<PolicyProblem> in_text_order(std::vector<PolicyProblem> problems) {
  const auto place = [](const PolicyProblem& problem) { return std::pair(problem.line, problem.column); };
  std::vector<PolicyProblem> ordered;
  for (PolicyProblem& problem : problems) {  // nearly in order already, so that most go to the end
    const auto at = std::ranges::upper_bound(ordered, place(problem), {}, place);
    const bool repeated = at != ordered.begin() && place(*std::prev(at)) == place(problem) && std::prev(at)->pointer == problem.pointer;
    if (!repeated) ordered.insert(at, std::move(problem));
  }
  return ordered;
}

PolicyExpected<Policy> resolve(Document first, std::span<const std::string> sets) {
  std::vector<Document> chain = load_chain(std::move(first));
  Policy policy;
  for (Document& document : std::views::reverse(chain)) {  // what is built on comes first
    policy.name = default_name(document);
    if (!document.json.root) continue;
    check_has_schema(document);
    read_fields(*document.json.root, document.source, policy, document.problems);
    document.problems = in_text_order(std::move(document.problems));
  }
  std::vector<PolicyProblem> problems;
  for (Document& document : chain) std::ranges::move(document.problems, std::back_inserter(problems));
  for (const std::string& set : sets) apply_set(set, policy, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  policy.canonical_json = write_fields(policy);
  policy.sha256 = sha256_hex(policy.canonical_json);
  return policy;
}

// Problems are one line each, on terminals too.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) {
      line += c;
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    line += escaped;
  }
  return line;
}

}  // namespace

std::string describe(const PolicyProblem& problem) {
  std::string text = to_valid_utf8(problem.source);
  if (problem.line > 0) text += ':' + std::to_string(problem.line) + ':' + std::to_string(problem.column);
  text += ": ";
  if (!problem.pointer.empty()) text += problem.pointer + ": ";
  return one_line(text + problem.message.substr(problem.path_length));
}

PolicyExpected<Policy> load_policy(const std::string& name_or_file, std::span<const std::string> sets) {
  auto first = open_document(name_or_file, true);
  if (first) return resolve(std::move(*first), sets);
  return std::unexpected(std::vector<PolicyProblem>{{name_or_file, "", 0, 0, first.error().message()}});
}

PolicyExpected<Policy> parse_policy(std::string_view text, const std::string& source, std::span<const std::string> sets) {
  return resolve(make_document(source, text), sets);
}

}  // namespace podjail
