#include <algorithm>
#include <set>

#include "base/suggest.h"
#include "python/findings.h"
#include "python/function_names.h"
#include "python/rules/rule.h"

namespace podjail::python {

const RuleInfo kFunctionNotFound{"PJ004",
                                 "function-not-found",
                                 Severity::error,
                                 true,
                                 "The function to call is not defined at the top level of the script.",
                                 "Define it in the script, or name the one that is there."};

namespace {

class FunctionRule : public TreeVisitor {
 public:
  explicit FunctionRule(const RuleInput& input) : findings_(input.findings), function_(*input.job.function) {}

  void statement(stmt_ty node, Scope&, bool) override {
    if (node->kind == Global_kind) {
      for_each_in(node->v.Global.names, [&](PyObject* name) { note(name, false); });
    } else if (node->kind == ImportFrom_kind) {
      for_each_in(node->v.ImportFrom.names, [&](alias_ty alias) {
        if (PyUnicode_CompareWithASCIIString(alias->name, "*") == 0) unknown_ = true;
      });
    }
  }

  void binding(const Binding& bound) override {
    if (bound.scope->kind == Scope::Kind::module) note(bound.name, bound.how == Binding::How::definition);
  }

  // Names may be made in other ways, which only running it can show.
  void expression(expr_ty node, Scope&) override {
    PyObject* const name = node->kind == Name_kind ? node->v.Name.id : node->kind == Attribute_kind ? node->v.Attribute.attr : nullptr;
    if (name == nullptr) return;
    for (const char* maker : {"globals", "locals", "vars", "exec", "setattr", "__dict__"}) {
      if (PyUnicode_CompareWithASCIIString(name, maker) == 0) unknown_ = true;
    }
  }

  void finish() override {
    if (found_ || unknown_) return;
    findings_.add_exact(kFunctionNotFound, {}, no_function_message(function_, {defined_.begin(), defined_.end()}));
  }

 private:
  void note(PyObject* name, bool is_definition) {
    const std::string text = text_of(name, 256);
    found_ = found_ || text == function_;
    constexpr std::size_t kEnough = 1000;
    if (is_definition && defined_.size() < kEnough) defined_.insert(text);
  }

  Findings& findings_;
  const std::string& function_;
  std::set<std::string> defined_;
  bool found_ = false, unknown_ = false;
};

}  // namespace

std::unique_ptr<TreeVisitor> make_function_rule(const RuleInput& input) {
  if (!input.job.function) return nullptr;
  return std::make_unique<FunctionRule>(input);
}

}  // namespace podjail::python
