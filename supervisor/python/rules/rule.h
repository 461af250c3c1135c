#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "policy/policy.h"
#include "python/tree_walk.h"
#include "wire/wire.h"

namespace podjail::python {

class Findings;

/// What users see of a rule.
struct RuleInfo {
  std::string_view id;    ///< "PJ101": stable, what policies and suppressions name
  std::string_view name;  ///< "forbidden-import"
  Severity severity;      ///< unless validation.rules says otherwise
  bool fixed;             ///< no policy or comment can change the severity: the script can't run like that
  std::string_view why;   ///< one line
  std::string_view hint;  ///< what to do; a finding may have a better one
};

/// What one check gives to the rules.
struct RuleInput {
  const wire::Job& job;
  std::string_view text;  ///< the script as UTF-8, without a byte order mark
  Findings& findings;
};

/// A rule is one of these in the registry, with a file of its own that holds its code.
struct Rule {
  const RuleInfo& info;
  void (*text)(const RuleInput&);                          ///< looks at the bytes; nullptr: doesn't
  std::unique_ptr<TreeVisitor> (*tree)(const RuleInput&);  ///< looks at the tree; nullptr: doesn't; may return nullptr: nothing to look for
};

/// All rules, by id.
std::span<const Rule> all_rules();

extern const RuleInfo kSyntaxError, kTooComplex, kBidiControl, kFunctionNotFound, kNotPythonText, kForbiddenImport, kForbiddenBuiltin;

void check_bidi_controls(const RuleInput&);
std::unique_ptr<TreeVisitor> make_function_rule(const RuleInput&);
std::unique_ptr<TreeVisitor> make_import_rule(const RuleInput&);
std::unique_ptr<TreeVisitor> make_builtin_rule(const RuleInput&);

}  // namespace podjail::python
