#include "python/check.h"

#include <string_view>
#include <vector>

#include "python/c_tree.h"
#include "python/compile_warnings.h"
#include "python/findings.h"
#include "python/python_version.h"
#include "script/prescan.h"
#include "script/text.h"

namespace podjail::python {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
std::size_t mark_length(std::string_view source) {
  return source.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

std::string python_hint(std::string_view hint) {
  return std::string(hint) + " Checked with Python " + version_text(static_cast<std::uint32_t>(Py_Version)) + ".";
}

enum class Stage { parse, compile };

// Takes the exception that the parser or the compiler has set.
void report_compile_error(Findings& findings, Stage stage) {
  PyObject *raw_type = nullptr, *raw_value = nullptr, *raw_traceback = nullptr;
  PyErr_Fetch(&raw_type, &raw_value, &raw_traceback);
  PyErr_NormalizeException(&raw_type, &raw_value, &raw_traceback);
  const Ref type = steal(raw_type), value = steal(raw_value), traceback = steal(raw_traceback);
  if (!value || !PyObject_TypeCheck(value.ptr(), reinterpret_cast<PyTypeObject*>(PyExc_SyntaxError))) {
    // MemoryError (the parser's own stack counts as memory), RecursionError, OverflowError: all say that it is too much.
    const Ref text = value ? steal(PyObject_Str(value.ptr())) : Ref();
    PyErr_Clear();
    std::string message = "too complex for Python's compiler";
    if (value) message += std::string(": ") + Py_TYPE(value.ptr())->tp_name;
    if (const std::string details = text_of(text.ptr(), 200); !details.empty()) message += ": " + details;
    findings.add_exact(kTooComplex, {}, message);
    return;
  }
  const auto* const error = reinterpret_cast<PySyntaxErrorObject*>(value.ptr());
  const auto number = [](PyObject* object) {
    const long n = object != nullptr && PyLong_Check(object) ? PyLong_AsLong(object) : 0;
    PyErr_Clear();
    return n > 0 && n < INT32_MAX ? static_cast<int>(n) : 0;
  };
  wire::Finding place;
  place.line = number(error->lineno);
  place.column = number(error->offset);
  place.end_line = number(error->end_lineno);
  place.end_column = number(error->end_offset);
  if (stage == Stage::compile) {  // bytes there, characters in the parser's errors
    if (place.column > 0) place.column = findings.lines().column(place.line, place.column - 1);
    if (place.end_column > 0) place.end_column = findings.lines().column(place.end_line, place.end_column - 1);
  }
  if (place.line > 0 && place.column == 0) place.column = 1;
  if (place.end_line == 0 || place.end_column == 0) {
    place.end_line = place.line;
    place.end_column = place.column;
  }
  const std::string message = text_of(error->msg, 1000);
  const bool nesting = message == "too many nested parentheses";
  findings.add_exact(nesting ? kTooComplex : kSyntaxError, place, message.empty() ? "invalid syntax" : message,
                     nesting ? "" : python_hint(kSyntaxError.hint));
}

void run_tree_rules(const RuleInput& input, mod_ty module) {
  std::vector<std::unique_ptr<TreeVisitor>> rules;
  std::vector<TreeVisitor*> visitors;
  for (const Rule& rule : all_rules()) {
    if (rule.tree == nullptr) continue;
    if (auto visitor = rule.tree(input)) {
      visitors.push_back(visitor.get());
      rules.push_back(std::move(visitor));
    }
  }
  if (!visitors.empty()) walk_tree(module, visitors);
}

std::string summary(const wire::Finding& first, std::size_t more) {
  std::string text = first.line > 0 ? "line " + std::to_string(first.line) + ": " + first.message : first.message;
  text += " (" + first.rule + ")";
  if (more > 0) text += ", and " + std::to_string(more) + " more";
  return text;
}

wire::Verdict conclude(Findings& findings) {
  wire::Verdict verdict;
  const std::size_t errors = findings.errors();
  verdict.findings = findings.take();
  verdict.verdict = errors > 0 ? "rejected" : "accepted";
  const wire::Finding* first = nullptr;
  for (const wire::Finding& finding : verdict.findings) {
    if (finding.severity != "error") continue;
    // What can't be compiled has no other reason; a missing function is one only where nothing else is wrong.
    if (finding.rule == kSyntaxError.id || finding.rule == kTooComplex.id) {
      verdict.reason = finding.rule == kSyntaxError.id ? "syntax_error" : "too_complex";
      first = &finding;
      break;
    }
    if (finding.rule == kFunctionNotFound.id) {
      if (first == nullptr) first = &finding;
      if (verdict.reason.empty()) verdict.reason = "function_not_found";
    } else if (verdict.reason != "forbidden") {
      verdict.reason = "forbidden";
      first = &finding;
    }
  }
  if (first != nullptr) verdict.message = summary(*first, errors - 1);
  return verdict;
}

}  // namespace

Checked check_script(const wire::Job& job, const std::string& source, PyObject* filename) {
  Checked checked;
  if (const auto problem = check_text(source, job.max_script)) {
    checked.verdict.verdict = "invalid_input";
    checked.verdict.reason = problem->reason;
    checked.verdict.message = problem->message;
    const auto& [id, name, severity, fixed, why, hint] = kNotPythonText;
    const int end = problem->column == 0 ? 0 : problem->column + 1;
    checked.verdict.findings.push_back({std::string(id), std::string(name), "error", problem->message, std::string(hint), problem->line,
                                        problem->column, problem->line, end});
    return checked;
  }
  const std::string_view text = std::string_view(source).substr(mark_length(source));
  Findings findings(text, job);
  const RuleInput input{job, text, findings};
  if (const auto problem = prescan(text)) {
    wire::Finding place;
    place.line = place.end_line = problem->line;
    place.column = place.end_column = problem->column;
    findings.add_exact(kTooComplex, place, problem->message);
    checked.verdict = conclude(findings);
    return checked;
  }
  if (job.validate) {
    for (const Rule& rule : all_rules()) {
      if (rule.text != nullptr) rule.text(input);
    }
  }
  {
    const CountedWarnings quiet;
    SyntaxTree tree(text.data(), filename);  // the string behind it ends with NUL
    if (tree.root() == nullptr) {
      report_compile_error(findings, Stage::parse);
    } else {
      if (job.validate) run_tree_rules(input, tree.root());
      checked.code = tree.compile(filename);
      if (!checked.code) report_compile_error(findings, Stage::compile);
    }
  }
  checked.warned = CountedWarnings::any();
  checked.verdict = conclude(findings);
  if (checked.verdict.verdict != "accepted") checked.code = Ref();
  return checked;
}

bool show_compile_warnings(const std::string& source, PyObject* filename) {
  SyntaxTree tree(source.c_str() + mark_length(source), filename);
  return tree.root() != nullptr && tree.compile(filename);
}

}  // namespace podjail::python
