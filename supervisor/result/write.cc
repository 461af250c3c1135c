#include "result/write.h"

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "base/utf8.h"

namespace podjail {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMaxText = 64U << 10;  // of one message or traceback
constexpr std::size_t kMaxFindings = 1000;   // entries of one list

std::string valid(std::string_view text, std::size_t limit = kMaxText) {
  return to_valid_utf8(utf8_prefix(text, limit));
}

ordered_json text_or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(valid(text));
}

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

// nlohmann keeps no integer above 64 bits, so the script's own JSON (return value, exit argument) goes into the text as it is, checked: a
// marker that no script can know stands for it until the document is dumped.
class RawValues {
 public:
  ordered_json add(const std::optional<std::string>& json_text) {
    // nlohmann takes a NUL for the end of the text, so what follows one would come through unchecked.
    if (!json_text || json_text->find('\0') != std::string::npos || !ordered_json::accept(*json_text)) return nullptr;
    values_.push_back(*json_text);
    return marker(values_.size() - 1);
  }
  void put_into(std::string& document) const {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::string quoted = '"' + marker(i) + '"';
      const std::size_t at = document.find(quoted);
      if (at != std::string::npos) document.replace(at, quoted.size(), values_[i]);
    }
  }

 private:
  [[nodiscard]] std::string marker(std::size_t i) const { return token_ + std::to_string(i); }
  static std::string random_token() {
    std::array<unsigned char, 16> bytes{};
    ::arc4random_buf(bytes.data(), bytes.size());
    return sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) + "-";
  }
  std::string token_ = random_token();
  std::vector<std::string> values_;
};

ordered_json seconds(const std::optional<Millis>& d) {
  return d ? ordered_json(static_cast<double>(d->count()) / 1000) : ordered_json(nullptr);
}

ordered_json script_section(const Result& r, RawValues& raw) {
  ordered_json exception = nullptr, exit_argument = nullptr, return_value = nullptr, notes = ordered_json::array(), bytes = nullptr;
  if (r.script.claim) {
    const wire::Ended& claim = *r.script.claim;
    if (claim.exception) {
      exception = {{"type", valid(claim.exception->type, 1024)},
                   {"message", valid(claim.exception->message)},
                   {"traceback", valid(claim.exception->traceback)},
                   {"line", claim.exception->line > 0 ? ordered_json(claim.exception->line) : ordered_json(nullptr)}};
    }
    exit_argument = raw.add(claim.exit_argument);
    return_value = raw.add(claim.return_value);
    for (const std::string& note : claim.return_notes) {
      if (notes.size() < kMaxFindings) notes.push_back(valid(note, 1024));
    }
    if (claim.return_bytes > 0) bytes = claim.return_bytes;
  }
  return {{"name", valid(r.script.name, 4096)},
          {"bytes", or_null(r.script.bytes)},
          {"sha256", text_or_null(r.script.sha256)},
          {"function", r.script.function ? ordered_json(valid(*r.script.function, 1024)) : ordered_json(nullptr)},
          {"return_value", std::move(return_value)},
          {"return_notes", std::move(notes)},
          {"return_bytes", std::move(bytes)},
          {"exit_argument", std::move(exit_argument)},
          {"exception", std::move(exception)},
          {"stopped_at", nullptr}};
}

ordered_json validation_section(const Result& r) {
  if (!r.validation) return {{"verdict", nullptr}, {"findings", ordered_json::array()}};
  ordered_json findings = ordered_json::array();
  const auto position = [](int value) { return value > 0 ? ordered_json(value) : ordered_json(nullptr); };
  for (const wire::Finding& f : r.validation->findings) {
    if (findings.size() == kMaxFindings) break;
    findings.push_back({{"file", f.file.empty() ? ordered_json(nullptr) : ordered_json(valid(f.file, 4096))},
                        {"rule", valid(f.rule, 64)},
                        {"name", valid(f.name, 256)},
                        {"severity", valid(f.severity, 16)},
                        {"message", valid(f.message, 4096)},
                        {"hint", f.hint.empty() ? ordered_json(nullptr) : ordered_json(valid(f.hint, 4096))},
                        {"line", position(f.line)},
                        {"column", position(f.column)},
                        {"end_line", position(f.end_line)},
                        {"end_column", position(f.end_column)}});
  }
  return {{"verdict", r.validation->verdict}, {"findings", std::move(findings)}};
}

ordered_json limits_section(const Result& r) {
  if (!r.limits) return nullptr;
  const Policy::Limits& l = *r.limits;
  return {{"wall", seconds(l.wall)},
          {"grace", seconds(l.grace)},
          {"cpu", seconds(l.cpu)},
          {"memory", or_null(l.memory)},
          {"processes", or_null(l.processes)},
          {"threads", or_null(l.threads)},
          {"open_files", or_null(l.open_files)},
          {"file_size", or_null(l.file_size)},
          {"scratch", or_null(l.scratch)},
          {"scratch_files", or_null(l.scratch_files)},
          {"stdout", l.stdout_kept},
          {"stderr", l.stderr_kept},
          {"output", or_null(l.output)},
          {"artifact_bytes", l.artifact_bytes},
          {"artifact_files", l.artifact_files},
          {"return_value", l.return_value}};
}

ordered_json stream_section(const std::optional<StreamReport>& stream) {
  if (!stream) return nullptr;
  const bool truncated = stream->kept < stream->bytes;
  return {{"file", stream->file},
          {"bytes", stream->bytes},
          {"kept", stream->kept},
          {"dropped", stream->bytes - stream->kept},
          {"truncated", truncated},
          {"sha256", stream->sha256},
          {"text", to_valid_utf8(stream->head)},
          {"tail", truncated ? ordered_json(to_valid_utf8(stream->tail)) : ordered_json(nullptr)}};
}

ordered_json artifacts_section(const Result& r) {
  ordered_json files = ordered_json::array(), refused = ordered_json::array();
  for (const auto& file : r.artifacts.files)
    files.push_back({{"path", valid(file.path, 4096)}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  for (const auto& entry : r.artifacts.refused) {
    if (refused.size() < ArtifactReport::kMaxListed) refused.push_back({{"path", valid(entry.path, 4096)}, {"reason", entry.reason}});
  }
  const ordered_json totals = {{"found", r.artifacts.found},
                               {"kept", r.artifacts.files.size()},
                               {"refused", r.artifacts.refused_count},
                               {"complete", r.artifacts.complete}};
  return {{"files", std::move(files)}, {"refused", std::move(refused)}, {"totals", totals}};
}

}  // namespace

std::string signal_name(int signal) {
  const char* const abbreviation = ::sigabbrev_np(signal);
  return std::string("SIG") + (abbreviation != nullptr ? abbreviation : std::to_string(signal));
}

std::string to_json(const Result& r) {
  RawValues raw;
  ordered_json layers = ordered_json::array(), violations = ordered_json::array(), timings = ordered_json::object();
  for (const LayerReport& layer : r.layers) {
    layers.push_back({{"layer", layer.layer},
                      {"required", layer.required},
                      {"enforced", layer.enforced},
                      {"mechanism", text_or_null(layer.mechanism)},
                      {"reason", text_or_null(layer.reason)}});
  }
  for (const Violation& v : r.violations) {
    violations.push_back({{"layer", v.layer},
                          {"what", valid(v.what, 256)},
                          {"detail", v.detail.empty() ? ordered_json(nullptr) : ordered_json(valid(v.detail, 1024))},
                          {"action", v.action},
                          {"count", v.count},
                          {"first_at", v.first_at},
                          {"line", nullptr}});
  }
  for (const auto& [step, duration] : r.timings) timings[step] = duration;
  ordered_json usage = nullptr;
  if (r.usage) {
    usage = {{"wall", r.usage->wall},
             {"user", r.usage->user},
             {"system", r.usage->system},
             {"peak_memory", r.usage->peak_memory},
             {"peak_processes", r.usage->peak_processes},
             {"peak_threads", r.usage->peak_threads},
             {"killed_leftovers", r.usage->killed_leftovers},
             {"scratch_bytes", r.usage->scratch_bytes}};
  }
  ordered_json document = {
      {"schema", "podjail.result/v1"},
      {"status", to_string(r.status)},
      {"retry_safe", r.retry_safe},
      {"reason", text_or_null(r.reason)},
      {"observed", r.observed},
      {"message", text_or_null(r.message)},
      {"run",
       {{"id", valid(r.run.id, 1024)},
        {"attempt", r.run.attempt},
        {"created_at", text_or_null(r.run.created_at)},
        {"started_at", text_or_null(r.run.started_at)},
        {"finished_at", text_or_null(r.run.finished_at)},
        {"job", text_or_null(r.run.job)},
        {"pod", text_or_null(r.run.pod)},
        {"pod_uid", text_or_null(r.run.pod_uid)},
        {"node", text_or_null(r.run.node)}}},
      {"script", script_section(r, raw)},
      {"exit",
       {{"code", or_null(r.exit.code)},
        {"signal", r.exit.signal ? ordered_json(signal_name(*r.exit.signal)) : ordered_json(nullptr)},
        {"supervisor_code", r.status == Status::running ? ordered_json(nullptr) : ordered_json(r.exit.supervisor_code)}}},
      {"policy", {{"name", text_or_null(r.policy_name)}, {"sha256", text_or_null(r.policy_sha256)}}},
      {"validation", validation_section(r)},
      {"isolation", {{"tier", text_or_null(r.tier)}, {"layers", std::move(layers)}}},
      {"violations", std::move(violations)},
      {"limits", limits_section(r)},
      {"usage", std::move(usage)},
      {"stdout", stream_section(r.out)},
      {"stderr", stream_section(r.err)},
      {"artifacts", artifacts_section(r)},
      {"timings", std::move(timings)},
      {"supervisor",
       {{"version", PODJAIL_VERSION},
        {"python", text_or_null(r.supervisor.python)},
        {"kernel", text_or_null(r.supervisor.kernel)},
        {"landlock_abi", r.supervisor.landlock_abi}}},
      {"signature", nullptr},
  };
  std::string text = document.dump(2, ' ', false, ordered_json::error_handler_t::replace);
  raw.put_into(text);
  text += '\n';
  return text;
}

std::string to_termination_message(const Result& r, std::string_view record) {
  constexpr std::size_t kLimit = 1024;
  std::size_t message_limit = 480;
  while (true) {
    const ordered_json document = {{"schema", "podjail.termination/v1"},         {"status", to_string(r.status)},
                                   {"reason", text_or_null(r.reason)},           {"retry_safe", r.retry_safe},
                                   {"message", valid(r.message, message_limit)}, {"run_id", valid(r.run.id, 128)},
                                   {"exit_code", r.exit.supervisor_code},        {"result_bytes", record.size()},
                                   {"result_sha256", sha256_hex(record)}};
    std::string text =
        document.dump(-1, ' ', true, ordered_json::error_handler_t::replace);  // ASCII: escapes count, so the bound is checked
    if (text.size() <= kLimit || message_limit == 0) return text.substr(0, kLimit);
    message_limit /= 2;
  }
}

}  // namespace podjail
