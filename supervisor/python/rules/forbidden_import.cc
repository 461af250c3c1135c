#include <unordered_set>

#include "python/findings.h"
#include "python/rules/import_spelling.h"
#include "python/rules/rule.h"

namespace podjail::python {

const RuleInfo kForbiddenImport{"PJ101",
                                "forbidden-import",
                                Severity::error,
                                false,
                                "The policy lists modules that scripts may not import, or the only ones they may.",
                                "Do without the module, or ask for a policy that permits it."};

namespace {

struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using Names = std::unordered_set<std::string, Hash, std::equal_to<>>;

// A module stands for its submodules: is `module` or a package above it in the list?
bool covers(const Names& names, std::string_view module) {
  while (true) {
    if (names.find(module) != names.end()) return true;
    const std::size_t dot = module.rfind('.');
    if (dot == module.npos) return false;
    module = module.substr(0, dot);
  }
}

class ImportRule : public TreeVisitor {
 public:
  explicit ImportRule(const RuleInput& input)
      : findings_(input.findings),
        deny_(input.job.deny_imports.begin(), input.job.deny_imports.end()),
        local_(input.job.local_modules.begin(), input.job.local_modules.end()) {
    if (input.job.allow_imports) allow_.emplace(input.job.allow_imports->begin(), input.job.allow_imports->end());
  }

  void statement(stmt_ty node, Scope&, bool) override {
    if (node->kind == Import_kind) {
      for_each_in(node->v.Import.names, [&](alias_ty alias) { check(text_of(alias->name, 1024), Span::of(alias)); });
    } else if (node->kind == ImportFrom_kind) {
      import_from(node);
    }
  }

  void expression(expr_ty node, Scope&) override {
    if (node->kind != Call_kind) return;
    const auto import = constant_import(node);
    if (!import) return;
    if (!check(import->module, Span::of(node))) return;
    for (const std::string& name : import->from_list) {
      if (!check_denied(import->module + "." + name, Span::of(node))) return;
    }
  }

  void binding(const Binding& bound) override {
    // `from . import x` asks for whatever package these say the file belongs to.
    for (const char* name : {"__package__", "__spec__", "__name__", "__path__"}) {
      if (PyUnicode_CompareWithASCIIString(bound.name, name) == 0) renames_itself_ = true;
    }
  }

  void finish() override {
    if (relative_.empty() || (!renames_itself_ && (!allow_ || !local_.empty()))) return;
    for (const Span& span : relative_) {
      findings_.add(kForbiddenImport, span,
                    renames_itself_ ? "relative import in a file that says itself which package it belongs to"
                                    : "relative import, but the script belongs to no package",
                    "Name the module in full.");
    }
  }

 private:
  void import_from(stmt_ty node) {
    const auto& from = node->v.ImportFrom;
    if (from.level > 0) {
      relative_.push_back(Span::of(node));
      return;
    }
    const std::string module = text_of(from.module, 1024);
    if (check_denied(module, Span::of(node)) && !permitted(module)) {
      // The package isn't in the list, but what is taken from it may be: `from os import path` where os.path is permitted.
      bool all = true;
      for_each_in(from.names, [&](alias_ty alias) { all = all && permitted(module + "." + text_of(alias->name, 1024)); });
      if (!all) report_not_allowed(module, Span::of(node));
    }
    if (covers(deny_, module)) return;
    for_each_in(from.names, [&](alias_ty alias) {
      const std::string name = text_of(alias->name, 1024);
      if (name != "*") {
        check_denied(module + "." + name, Span::of(alias));
        return;
      }
      for (const std::string& denied : deny_) {
        if (denied.starts_with(module + ".")) {
          findings_.add(kForbiddenImport, Span::of(alias),
                        "import of everything in " + module + ", which includes " + denied + ", is forbidden");
          return;
        }
      }
    });
  }

  bool permitted(std::string_view module) const {
    return !allow_ || covers(*allow_, module) || local_.find(module.substr(0, module.find('.'))) != local_.end() || module == "__future__";
  }

  bool check_denied(const std::string& module, const Span& span) {
    if (!covers(deny_, module)) return true;
    findings_.add(kForbiddenImport, span, "import of " + module + " is forbidden");
    return false;
  }

  void report_not_allowed(const std::string& module, const Span& span) {
    findings_.add(kForbiddenImport, span, "import of " + module + " is forbidden: it is not in the policy's list");
  }

  bool check(const std::string& module, const Span& span) {
    if (!check_denied(module, span)) return false;
    if (permitted(module)) return true;
    report_not_allowed(module, span);
    return false;
  }

  Findings& findings_;
  Names deny_, local_;
  std::optional<Names> allow_;
  std::vector<Span> relative_;
  bool renames_itself_ = false;
};

}  // namespace

std::unique_ptr<TreeVisitor> make_import_rule(const RuleInput& input) {
  if (input.job.deny_imports.empty() && !input.job.allow_imports) return nullptr;
  return std::make_unique<ImportRule>(input);
}

}  // namespace podjail::python
