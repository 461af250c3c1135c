#include "cli/check.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "cli/terminal.h"
#include "result/exit_code.h"
#include "run/check.h"
#include "run/script_input.h"

namespace podjail {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kStdin = "<stdin>";

struct Checked {
  CheckText text;
  wire::Verdict verdict;
};

wire::Verdict unreadable(const InputProblem& problem) {
  return {"invalid_input", problem.reason, problem.message, {}};
}

// Errors: a folder that holds none, or can't be read to its end.
Expected<std::vector<std::string>> files_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector{path};
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code not_there;
    if (entry->path().extension() == ".py" && entry->is_regular_file(not_there)) files.push_back(entry->path().string());
  }
  if (error) return fail("read folder", error.value(), path);
  if (files.empty()) return fail("no Python file in", 0, path);
  std::sort(files.begin(), files.end());
  return files;
}

std::string line_of(std::string_view text, int number) {
  for (int line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  std::string line(text.substr(0, text.find('\n')));
  while (!line.empty() && line.back() == '\r') line.pop_back();
  return to_valid_utf8(line);
}

// `count` characters off the front of `rest`, as they are shown.
std::string take_shown(std::string_view& rest, int count) {
  std::string_view taken = rest;
  for (; count > 0 && !rest.empty(); --count) rest.remove_prefix(std::max<std::size_t>(utf8_sequence_length(rest), 1));
  taken.remove_suffix(rest.size());
  return neutral_line(taken);
}

// The source line, and a caret line below it that counts an escape by its width.
void print_source(const std::string& source, const wire::Finding& f) {
  std::string_view rest = source;
  const std::string before = take_shown(rest, f.column - 1);
  const std::string marked = take_shown(rest, f.end_line == f.line ? std::max(f.end_column - f.column, 1) : 1);
  std::string pad;
  for (std::string_view left = before; !left.empty(); left.remove_prefix(utf8_sequence_length(left)))
    pad += left.front() == '\t' ? '\t' : ' ';  // tabs stay tabs, so that the caret stands under its column
  std::cout << "    " << before << marked << neutral_line(rest) << "\n    " << pad
            << std::string(std::max<std::size_t>(utf8_length(marked), 1), '^') << '\n';
}

void print_text(const std::vector<Checked>& all) {
  for (const Checked& one : all) {
    const std::string name = neutral_line(one.text.name);
    if (one.verdict.findings.empty() && one.verdict.verdict != "accepted") {
      std::cout << name << ": error: " << neutral_line(one.verdict.message) << '\n';
    }
    for (const wire::Finding& f : one.verdict.findings) {
      std::cout << name;
      if (f.line > 0) std::cout << ':' << f.line << ':' << f.column;
      std::cout << ": " << neutral_line(f.severity + " " + f.rule + " " + f.name + ": " + f.message) << '\n';
      if (f.line > 0) {
        const std::string source = line_of(one.text.bytes, f.line);
        if (source.size() <= 400) print_source(source, f);
      }
      if (!f.hint.empty()) std::cout << "    hint: " << neutral_line(f.hint) << '\n';
    }
  }
}

ordered_json position(int value) {
  return value > 0 ? ordered_json(value) : ordered_json(nullptr);
}

void print_json(const std::vector<Checked>& all) {
  ordered_json files = ordered_json::array();
  for (const Checked& one : all) {
    ordered_json findings = ordered_json::array();
    for (const wire::Finding& f : one.verdict.findings) {
      findings.push_back({{"rule", f.rule},
                          {"name", f.name},
                          {"severity", f.severity},
                          {"message", f.message},
                          {"hint", f.hint.empty() ? ordered_json(nullptr) : ordered_json(f.hint)},
                          {"line", position(f.line)},
                          {"column", position(f.column)},
                          {"end_line", position(f.end_line)},
                          {"end_column", position(f.end_column)}});
    }
    files.push_back({{"path", one.text.name},
                     {"verdict", one.verdict.verdict},
                     {"reason", one.verdict.reason.empty() ? ordered_json(nullptr) : ordered_json(one.verdict.reason)},
                     {"message", one.verdict.message.empty() ? ordered_json(nullptr) : ordered_json(one.verdict.message)},
                     {"findings", std::move(findings)}});
  }
  ordered_json document = ordered_json::object();
  document["schema"] = "podjail.check/v1";
  document["files"] = std::move(files);
  std::cout << document.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

// RFC 3986: all but '/' and the unreserved characters is escaped.
std::string uri_of(const std::string& name) {
  if (name == kStdin) return "stdin";
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string{c} : std::string{'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return uri;
}

// SARIF 2.1.0 (OASIS). Columns count characters: columnKind unicodeCodePoints.
void print_sarif(const std::vector<Checked>& all) {
  std::map<std::string, std::string> names;
  ordered_json results = ordered_json::array();
  const auto location = [](const std::string& name) {
    ordered_json physical = ordered_json::object();
    physical["artifactLocation"]["uri"] = uri_of(name);
    return physical;
  };
  for (const Checked& one : all) {
    for (const wire::Finding& f : one.verdict.findings) {
      names.emplace(f.rule, f.name);
      ordered_json physical = location(one.text.name);
      if (f.line > 0) {
        physical["region"] = {{"startLine", f.line}, {"startColumn", std::max(f.column, 1)}};
        if (f.end_line >= f.line && f.end_column > 0) {
          physical["region"]["endLine"] = f.end_line;
          physical["region"]["endColumn"] = f.end_column;
        }
      }
      ordered_json result = ordered_json::object();
      result["ruleId"] = f.rule;
      result["level"] = f.severity == "warn" ? "warning" : "error";
      result["message"]["text"] = f.message + (f.hint.empty() ? "" : " (" + f.hint + ")");
      result["locations"] = ordered_json::array();
      result["locations"].push_back(ordered_json::object());
      result["locations"][0]["physicalLocation"] = std::move(physical);
      results.push_back(std::move(result));
    }
    if (!one.verdict.findings.empty() || one.verdict.verdict == "accepted") continue;
    names.emplace("input", "invalid-input");
    ordered_json result = ordered_json::object();
    result["ruleId"] = "input";
    result["level"] = "error";
    result["message"]["text"] = one.verdict.message;
    result["locations"] = ordered_json::array();
    result["locations"].push_back(ordered_json::object());
    result["locations"][0]["physicalLocation"] = location(one.text.name);
    results.push_back(std::move(result));
  }
  ordered_json rules = ordered_json::array();
  for (const auto& [id, name] : names) {
    ordered_json rule = ordered_json::object();
    rule["id"] = id;
    rule["name"] = name;
    rules.push_back(std::move(rule));
  }
  ordered_json run = ordered_json::object();
  run["tool"]["driver"] = ordered_json::object();
  run["tool"]["driver"]["name"] = "podjail";
  run["tool"]["driver"]["version"] = PODJAIL_VERSION;
  run["tool"]["driver"]["rules"] = std::move(rules);
  run["columnKind"] = "unicodeCodePoints";
  run["results"] = std::move(results);
  ordered_json document = ordered_json::object();
  document["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  document["version"] = "2.1.0";
  document["runs"] = ordered_json::array();
  document["runs"].push_back(std::move(run));
  std::cout << document.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace

int check_command(const Policy& policy, const std::vector<std::string>& paths, CheckFormat format) {
  std::vector<Checked> all;
  std::vector<CheckText> texts;
  std::vector<std::size_t> places;  // of each text in `all`
  bool all_found = true;
  for (const std::string& path : paths) {
    const auto files = files_of(path);
    if (!files) {
      complain(files.error().message());
      all_found = false;
      continue;
    }
    for (const std::string& file : *files) {
      RunRequest request;
      request.argv = {file};
      auto script = read_script(request, policy.validation.max_script);
      if (!script) {
        all.push_back({{file, {}}, unreadable(script.error())});
        continue;
      }
      places.push_back(all.size());
      const std::string name(file == "-" ? kStdin : file);
      texts.push_back({name, script->bytes});
      all.push_back({{name, std::move(script->bytes)}, {}});
    }
  }
  auto verdicts = check_texts(policy, texts);
  if (!verdicts) {
    complain("nothing was checked: " + verdicts.error().message);
    return exit_code_of(verdicts.error().status);
  }
  for (std::size_t i = 0; i < places.size(); ++i) all[places[i]].verdict = std::move((*verdicts)[i]);
  switch (format) {
    case CheckFormat::text:
      print_text(all);
      break;
    case CheckFormat::json:
      print_json(all);
      break;
    case CheckFormat::sarif:
      print_sarif(all);
      break;
  }
  const auto any = [&all](std::string_view verdict) {
    return std::any_of(all.begin(), all.end(), [verdict](const Checked& one) { return one.verdict.verdict == verdict; });
  };
  if (any("rejected")) return exit_code::kRejected;
  return all_found && !any("invalid_input") ? exit_code::kSucceeded : exit_code::kInvalidInput;
}

}  // namespace podjail
