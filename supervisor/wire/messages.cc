#include <cstring>
#include <nlohmann/json.hpp>

#include "wire/wire.h"

// Payloads are JSON objects, but for `confine`, whose programs are arrays of kernel structs. Decoders check every type and take nothing
// that they don't know: the peer may be a script that forges them.
namespace podjail::wire {
namespace {

using nlohmann::json;

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

constexpr int kMaxDepth = 16;
constexpr int kMaxValues = 200000;  // of one message: each costs far more memory than its bytes

// Parses at most kMaxDepth levels, so that no later walk can be made deep. `ended` carries the return value as text for that reason.
Expected<json> parse(std::string_view payload) {
  bool refused = false;
  int values = 0;
  const json::parser_callback_t bound = [&](int depth, json::parse_event_t, json&) {
    refused = refused || depth > kMaxDepth || ++values > kMaxValues;
    return !refused;
  };
  if (payload.find('\0') != std::string_view::npos) return fail("a message with a NUL byte");  // nlohmann would take it for the end
  json value = json::parse(payload, bound, /*allow_exceptions=*/false);
  if (refused || value.is_discarded() || !value.is_object()) return fail("a message that is no JSON object");
  return value;
}

// Whether `text` is JSON of at most kMaxValueDepth levels; builds nothing.
class DepthCheck : public nlohmann::json_sax<json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return false; }
  bool key(std::string&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kMaxValueDepth; }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return ++depth_ <= kMaxValueDepth; }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool leave() {
    --depth_;
    return true;
  }
  int depth_ = 0;
};

bool is_value(const std::string& text) {
  DepthCheck check;
  return text.find('\0') == std::string::npos && json::sax_parse(text, &check);
}

// Reads fields one by one and remembers the first that is missing or of another type.
class Fields {
 public:
  explicit Fields(const json& object) : object_(object) {}

  template <class T>
  T get(const char* key) {
    T value{};
    const auto found = object_.find(key);
    if (found == object_.end() || !read(*found, value)) note(key);
    return value;
  }
  template <class T>
  std::optional<T> get_optional(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) return std::nullopt;
    T value{};
    if (!read(*found, value)) note(key);
    return value;
  }
  const json* array(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_array()) {
      note(key);
      return nullptr;
    }
    return &*found;
  }
  void note(const char* key) {
    if (bad_ == nullptr) bad_ = key;
  }
  [[nodiscard]] Expected<void> check() const {
    if (bad_ != nullptr) return fail("a message whose field is missing or of another type:", 0, bad_);
    return {};
  }

 private:
  static bool read(const json& from, std::string& to) {
    if (!from.is_string()) return false;
    to = from.get_ref<const std::string&>();
    return true;
  }
  static bool read(const json& from, bool& to) {
    if (!from.is_boolean()) return false;
    to = from.get<bool>();
    return true;
  }
  static bool read(const json& from, int& to) {
    if (!from.is_number_integer()) return false;
    const auto value = from.get<std::int64_t>();
    if (value < INT32_MIN || value > INT32_MAX) return false;
    to = static_cast<int>(value);
    return true;
  }
  static bool read(const json& from, std::uint64_t& to) {
    if (!from.is_number_unsigned()) return false;
    to = from.get<std::uint64_t>();
    return true;
  }
  static bool read(const json& from, std::vector<std::string>& to) {
    if (!from.is_array()) return false;
    for (const json& item : from) {
      std::string text;
      if (!read(item, text)) return false;
      to.push_back(std::move(text));
    }
    return true;
  }

  const json& object_;
  const char* bad_ = nullptr;
};

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

}  // namespace

std::string encode(const Hello& m) {
  return dump({{"python_version", m.python_version}, {"error", m.error}});
}

Expected<Hello> decode_hello(std::string_view payload) {
  const json object = TRY(parse(payload));
  Fields fields(object);
  Hello m{fields.get<std::string>("python_version"), fields.get<std::string>("error")};
  TRY_VOID(fields.check());
  return m;
}

std::string encode(const Confine& m) {
  std::string bytes;
  const auto number = [&bytes](std::size_t value) {
    const auto small = static_cast<std::uint32_t>(value);
    bytes.append(reinterpret_cast<const char*>(&small), sizeof small);
  };
  number(m.listener ? 1 : 0);
  for (const auto* program : {&m.guard, &m.allow_list, &m.fallback}) {
    number(program->size());
    bytes.append(reinterpret_cast<const char*>(program->data()), program->size() * sizeof(sock_filter));
  }
  bytes += m.landlock_probe;
  return bytes;
}

Expected<Confine> decode_confine(std::string_view payload) {
  Confine m;
  const auto number = [&payload](std::uint32_t& value) {
    if (payload.size() < sizeof value) return false;
    std::memcpy(&value, payload.data(), sizeof value);
    payload.remove_prefix(sizeof value);
    return true;
  };
  std::uint32_t listener = 0;
  if (!number(listener)) return fail("a short `confine` message");
  m.listener = listener != 0;
  for (auto* program : {&m.guard, &m.allow_list, &m.fallback}) {
    std::uint32_t count = 0;
    if (!number(count) || payload.size() / sizeof(sock_filter) < count) return fail("a short `confine` message");
    program->resize(count);
    if (count > 0) std::memcpy(program->data(), payload.data(), count * sizeof(sock_filter));
    payload.remove_prefix(count * sizeof(sock_filter));
  }
  m.landlock_probe = payload;
  return m;
}

std::string encode(const Confined& m) {
  return dump({{"error", m.error}, {"listener_err", m.listener_err}, {"landlock_probe_err", m.landlock_probe_err}});
}

Expected<Confined> decode_confined(std::string_view payload) {
  const json object = TRY(parse(payload));
  Fields fields(object);
  Confined m{fields.get<std::string>("error"), fields.get<int>("listener_err"), fields.get<int>("landlock_probe_err")};
  TRY_VOID(fields.check());
  return m;
}

std::string encode(const Job& m) {
  json rules = json::array();
  for (const auto& [id, severity] : m.rules) rules.push_back({id, severity});
  return dump({{"mode", m.mode == Job::Mode::run ? "run" : "check"},
               {"name", m.name},
               {"script_path", m.script_path},
               {"function", or_null(m.function)},
               {"python_paths", m.python_paths},
               {"validate", m.validate},
               {"deny_imports", m.deny_imports},
               {"allow_imports", or_null(m.allow_imports)},
               {"deny_builtins", m.deny_builtins},
               {"rules", std::move(rules)},
               {"suppressions", m.suppressions},
               {"max_script", m.max_script},
               {"return_value_limit", m.return_value_limit},
               {"has_payload", m.has_payload},
               {"line_buffered", m.line_buffered},
               {"local_modules", m.local_modules}});
}

Expected<Job> decode_job(std::string_view payload) {
  const json object = TRY(parse(payload));
  Fields fields(object);
  Job m;
  m.mode = fields.get<std::string>("mode") == "check" ? Job::Mode::check : Job::Mode::run;
  m.name = fields.get<std::string>("name");
  m.script_path = fields.get<std::string>("script_path");
  m.function = fields.get_optional<std::string>("function");
  m.python_paths = fields.get<std::vector<std::string>>("python_paths");
  m.validate = fields.get<bool>("validate");
  m.deny_imports = fields.get<std::vector<std::string>>("deny_imports");
  m.allow_imports = fields.get_optional<std::vector<std::string>>("allow_imports");
  m.deny_builtins = fields.get<std::vector<std::string>>("deny_builtins");
  if (const json* rules = fields.array("rules")) {
    for (const json& rule : *rules) {
      if (rule.is_array() && rule.size() == 2 && rule[0].is_string() && rule[1].is_string()) {
        m.rules.emplace_back(rule[0].get<std::string>(), rule[1].get<std::string>());
      } else {
        fields.note("rules");
      }
    }
  }
  m.suppressions = fields.get<bool>("suppressions");
  m.max_script = fields.get<std::uint64_t>("max_script");
  m.return_value_limit = fields.get<std::uint64_t>("return_value_limit");
  m.has_payload = fields.get<bool>("has_payload");
  m.line_buffered = fields.get<bool>("line_buffered");
  m.local_modules = fields.get<std::vector<std::string>>("local_modules");
  TRY_VOID(fields.check());
  return m;
}

std::string encode(const Verdict& m) {
  json findings = json::array();
  for (const Finding& f : m.findings) {
    findings.push_back({{"rule", f.rule},
                        {"name", f.name},
                        {"severity", f.severity},
                        {"message", f.message},
                        {"hint", f.hint},
                        {"line", f.line},
                        {"column", f.column},
                        {"end_line", f.end_line},
                        {"end_column", f.end_column}});
  }
  return dump({{"verdict", m.verdict}, {"reason", m.reason}, {"message", m.message}, {"findings", std::move(findings)}});
}

Expected<Verdict> decode_verdict(std::string_view payload) {
  const json object = TRY(parse(payload));
  Fields fields(object);
  Verdict m;
  m.verdict = fields.get<std::string>("verdict");
  m.reason = fields.get<std::string>("reason");
  m.message = fields.get<std::string>("message");
  if (m.verdict != "accepted" && m.verdict != "rejected" && m.verdict != "invalid_input") fields.note("verdict");
  if (const json* findings = fields.array("findings")) {
    for (const json& item : *findings) {
      if (!item.is_object()) {
        fields.note("findings");
        break;
      }
      Fields f(item);
      m.findings.push_back({f.get<std::string>("rule"), f.get<std::string>("name"), f.get<std::string>("severity"),
                            f.get<std::string>("message"), f.get<std::string>("hint"), f.get<int>("line"), f.get<int>("column"),
                            f.get<int>("end_line"), f.get<int>("end_column")});
      TRY_VOID(f.check());
    }
  }
  TRY_VOID(fields.check());
  return m;
}

std::string encode(const Ended& m) {
  json exception = nullptr;
  if (m.exception) {
    exception = {
        {"type", m.exception->type}, {"message", m.exception->message}, {"traceback", m.exception->traceback}, {"line", m.exception->line}};
  }
  return dump({{"exception", std::move(exception)},
               {"memory_error", m.memory_error},
               {"exit_argument", or_null(m.exit_argument)},
               {"return_value", or_null(m.return_value)},
               {"return_notes", m.return_notes},
               {"return_reason", m.return_reason},
               {"return_message", m.return_message},
               {"return_bytes", m.return_bytes}});
}

Expected<Ended> decode_ended(std::string_view payload, std::size_t return_limit) {
  const json object = TRY(parse(payload));
  Fields fields(object);
  Ended m;
  if (const auto exception = object.find("exception"); exception != object.end() && exception->is_object()) {
    Fields e(*exception);
    m.exception =
        ExceptionClaim{e.get<std::string>("type"), e.get<std::string>("message"), e.get<std::string>("traceback"), e.get<int>("line")};
    TRY_VOID(e.check());
  }
  m.memory_error = fields.get<bool>("memory_error");
  m.exit_argument = fields.get_optional<std::string>("exit_argument");
  m.return_value = fields.get_optional<std::string>("return_value");
  // What is no JSON was not written by the runner: there is no value then.
  if (m.return_value && m.return_value->size() > return_limit) m.return_value.reset();
  for (auto* text : {&m.exit_argument, &m.return_value}) {
    if (*text && !is_value(**text)) text->reset();
  }
  m.return_notes = fields.get<std::vector<std::string>>("return_notes");
  m.return_reason = fields.get<std::string>("return_reason");
  m.return_message = fields.get<std::string>("return_message");
  m.return_bytes = fields.get<std::uint64_t>("return_bytes");
  TRY_VOID(fields.check());
  return m;
}

}  // namespace podjail::wire
