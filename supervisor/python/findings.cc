#include "python/findings.h"

#include <algorithm>
#include <tuple>

namespace podjail::python {

// What a person reads, and what the result file must be able to hold; the rest is counted.
static constexpr std::size_t kMaxPerRule = 100;

Findings::Findings(std::string_view text, const wire::Job& job) : job_(job), lines_(text) {}

Severity Findings::severity_of(const RuleInfo& rule) const {
  if (rule.fixed) return rule.severity;
  for (const auto& [id, severity] : job_.rules) {
    if (id != rule.id) continue;
    if (severity == "off") return Severity::off;
    return severity == "warn" ? Severity::warn : Severity::error;
  }
  return rule.severity;
}

// `# podjail: ignore[PJ101]` or `# podjail: ignore[PJ101, PJ201]` on the line where the finding starts.
bool Findings::suppressed(const RuleInfo& rule, int line) {
  if (!job_.suppressions || rule.fixed) return false;
  if (line != marked_line_) {  // a long line may hold many findings: looked at once
    constexpr std::string_view kMarker = "# podjail: ignore[";
    const std::string_view text = lines_.line(line);
    const std::size_t at = text.find(kMarker);
    marked_line_ = line;
    marked_ids_ = at == text.npos ? std::string_view() : text.substr(at + kMarker.size());
    marked_ids_ = marked_ids_.substr(0, marked_ids_.find(']'));
  }
  const std::string_view ids = marked_ids_;
  for (std::size_t found = ids.find(rule.id); found != ids.npos; found = ids.find(rule.id, found + 1)) {
    const auto ends = [&ids](std::size_t i) { return i >= ids.size() || ids[i] == ',' || ids[i] == ' '; };
    if ((found == 0 || ends(found - 1)) && ends(found + rule.id.size())) return true;
  }
  return false;
}

// False where it is off, suppressed, or one too many; before anything is spent on the position.
bool Findings::admit(const RuleInfo& rule, int line) {
  const Severity severity = severity_of(rule);
  if (severity == Severity::off || suppressed(rule, line)) return false;
  if (severity == Severity::error) ++errors_;
  return ++per_rule_[rule.id] <= kMaxPerRule;
}

void Findings::keep(const RuleInfo& rule, wire::Finding finding, std::string message, std::string hint) {
  finding.rule = rule.id;
  finding.name = rule.name;
  finding.severity = severity_of(rule) == Severity::error ? "error" : "warn";
  finding.message = std::move(message);
  finding.hint = hint.empty() ? std::string(rule.hint) : std::move(hint);
  findings_.push_back(std::move(finding));
}

void Findings::add_exact(const RuleInfo& rule, wire::Finding finding, std::string message, std::string hint) {
  if (admit(rule, finding.line)) keep(rule, std::move(finding), std::move(message), std::move(hint));
}

void Findings::add(const RuleInfo& rule, const Span& span, std::string message, std::string hint) {
  if (!admit(rule, span.line)) return;
  wire::Finding finding;
  finding.line = span.line;
  finding.column = lines_.column(span.line, span.byte);
  finding.end_line = span.end_line;
  finding.end_column = lines_.column(span.end_line, span.end_byte);
  keep(rule, std::move(finding), std::move(message), std::move(hint));
}

void Findings::add_at(const RuleInfo& rule, std::size_t offset, std::size_t length, std::string message, std::string hint) {
  const SourceLines::Place from = lines_.place(offset), to = lines_.place(offset + length);
  add(rule, {from.line, from.byte_offset, to.line, to.byte_offset}, std::move(message), std::move(hint));
}

std::vector<wire::Finding> Findings::take() {
  std::stable_sort(findings_.begin(), findings_.end(), [](const wire::Finding& a, const wire::Finding& b) {
    return std::tie(a.line, a.column, a.rule) < std::tie(b.line, b.column, b.rule);
  });
  return std::move(findings_);
}

}  // namespace podjail::python
