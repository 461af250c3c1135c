#include "cli/result.h"

#include <fcntl.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/terminal.h"
#include "result/exit_code.h"
#include "sys/files.h"

namespace podjail {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxRecord = 256U << 20;

constexpr int kMaxDepth = 200;

// A record may come from anywhere: nothing in it is taken for granted.
class View {
 public:
  explicit View(const json& value) : value_(value) {}
  View operator[](const char* key) const {
    static const json kNull;
    const auto found = value_.is_object() ? value_.find(key) : value_.end();
    return View(value_.is_object() && found != value_.end() ? *found : kNull);
  }
  [[nodiscard]] bool empty() const { return value_.is_null() || (value_.is_string() && value_.get_ref<const std::string&>().empty()); }
  [[nodiscard]] bool is_text() const { return value_.is_string(); }
  // One line.
  [[nodiscard]] std::string text() const {
    if (value_.is_string()) return neutral_line(value_.get_ref<const std::string&>());
    return value_.is_null() ? "-" : neutral_line(value_.dump(-1, ' ', false, json::error_handler_t::replace));
  }
  [[nodiscard]] std::string lines() const { return value_.is_string() ? neutral_text(value_.get_ref<const std::string&>()) : text(); }
  [[nodiscard]] double number() const { return value_.is_number() ? value_.get<double>() : 0; }
  [[nodiscard]] std::uint64_t bytes() const { return value_.is_number_unsigned() ? value_.get<std::uint64_t>() : 0; }
  [[nodiscard]] bool yes() const { return value_.is_boolean() && value_.get<bool>(); }
  [[nodiscard]] const json& items() const {
    static const json kNone = json::array();
    return value_.is_array() ? value_ : kNone;
  }

 private:
  const json& value_;
};

void line(const char* label, const std::string& text) {
  std::cout << "  " << label << std::string(std::max<std::size_t>(14 - std::string_view(label).size(), 1), ' ') << text << '\n';
}

std::string seconds(double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.3f s", value);
  return text;
}

std::string indented(const std::string& text) {
  std::string result = "    ";
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) result += "    ";
  }
  return result;
}

void show_stream(const char* label, View stream) {
  if (stream["bytes"].bytes() == 0) return;
  std::cout << "\n"
            << label << " (" << stream["bytes"].text() << " bytes"
            << (stream["truncated"].yes() ? ", " + stream["dropped"].text() + " left out" : "") << ")\n";
  std::cout << indented(stream["text"].lines());
  if (!stream["tail"].empty()) std::cout << "\n    …\n" << indented(stream["tail"].lines());
  std::cout << '\n';
}

void show(View result) {
  std::cout << result["status"].text();
  if (!result["message"].empty()) std::cout << ": " << result["message"].text();
  std::cout << "\n\n";
  line("run", result["run"]["id"].text() + " (attempt " + result["run"]["attempt"].text() + ")");
  line("script",
       result["script"]["name"].text() + (result["script"]["function"].empty() ? "" : ", function " + result["script"]["function"].text()));
  const View exit = result["exit"];
  if (!exit["signal"].empty()) {
    line("exit", exit["signal"].text());
  } else if (!exit["code"].empty()) {
    line("exit", "code " + exit["code"].text());
  }
  if (!result["policy"]["name"].empty()) line("policy", result["policy"]["name"].text());
  if (!result["script"]["return_value"].empty()) line("returned", result["script"]["return_value"].text());
  const View usage = result["usage"];
  if (!usage.empty()) {
    line("time", seconds(usage["wall"].number()) + " (CPU " + seconds(usage["user"].number() + usage["system"].number()) + ")");
    line("memory", format_bytes((usage["peak_memory"].bytes() >> 10) << 10) + " at most");
  }
  std::string enforced, missing;
  for (const json& item : result["isolation"]["layers"].items()) {
    const View layer(item);
    std::string& list = layer["enforced"].yes() ? enforced : missing;
    list += (list.empty() ? "" : ", ") + layer["layer"].text();
  }
  // None: the run ended before the jail was verified, or has not come to it yet, and nothing can be said.
  if (!enforced.empty()) {
    line("jail", result["isolation"]["tier"].text() + ": " + enforced);
    if (!missing.empty()) line("not enforced", missing);
  }

  for (const json& item : result["validation"]["findings"].items()) {
    const View f(item);
    std::cout << "\n  " << f["severity"].text() << " " << f["rule"].text() << (f["file"].empty() ? "" : " " + f["file"].text()) << " line "
              << f["line"].text() << ", column " << f["column"].text() << ": " << f["message"].text();
    if (!f["hint"].empty()) std::cout << "\n    hint: " << f["hint"].text();
    std::cout << '\n';
  }
  if (const json& violations = result["violations"].items(); !violations.empty()) {
    std::cout << "\nrefused by the jail\n";
    for (const json& item : violations) {
      const View v(item);
      std::cout << "    " << v["what"].text() << (v["detail"].empty() ? "" : " (" + v["detail"].text() + ")") << ": " << v["action"].text()
                << ", " << v["count"].text() << "x\n";
    }
  }
  show_stream("stdout", result["stdout"]);
  show_stream("stderr", result["stderr"]);
  if (const json& files = result["artifacts"]["files"].items(); !files.empty()) {
    std::cout << "\nartifacts\n";
    for (const json& item : files) std::cout << "    " << View(item)["path"].text() << " (" << View(item)["bytes"].text() << " bytes)\n";
  }
  if (const json& refused = result["artifacts"]["refused"].items(); !refused.empty()) {
    std::cout << "\nartifacts that were refused\n";
    for (const json& item : refused) std::cout << "    " << View(item)["path"].text() << " (" << View(item)["reason"].text() << ")\n";
    const std::uint64_t all = result["artifacts"]["totals"]["refused"].bytes();
    if (all > refused.size()) std::cout << "    and " << all - refused.size() << " more\n";
  }
}

Expected<std::string> read_file(const std::string& file) {
  if (file == "-") return read_all(STDIN_FILENO, kMaxRecord);
  const Fd opened = TRY(open_at(AT_FDCWD, file, O_RDONLY));
  return read_all(opened.get(), kMaxRecord);
}

}  // namespace

int result_show(const std::string& file) {
  const auto text = read_file(file);
  if (!text) {
    complain(text.error().message());
    return exit_code::kInvalidInput;
  }
  const auto shallow = [](int depth, json::parse_event_t, const json&) { return depth < kMaxDepth; };  // dump() is recursive
  const json document = json::parse(*text, shallow, false);
  if (View(document)["schema"].text() != "podjail.result/v1" || !View(document)["status"].is_text()) {
    complain((file == "-" ? "stdin" : file) + " is no podjail.result/v1");
    return exit_code::kInvalidInput;
  }
  show(View(document));
  return exit_code::kSucceeded;
}

}  // namespace podjail
