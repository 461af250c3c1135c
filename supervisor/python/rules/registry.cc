#include "python/rules/rule.h"

namespace podjail::python {

// Found by the text checks, the parser, the compiler and the pre-scan rather than by a walk; check.cc reports them.
const RuleInfo kSyntaxError{"PJ001",
                            "syntax-error",
                            Severity::error,
                            true,
                            "Python can't compile it, so nothing of it would run.",
                            "Fix the syntax; the position is where Python noticed the error."};
const RuleInfo kTooComplex{
    "PJ002",
    "too-complex",
    Severity::error,
    true,
    "Python's parser and compiler need memory and stack in proportion to what they are fed; this is beyond any real script.",
    "Move data out of the source into a file, and split deeply nested expressions."};
const RuleInfo kNotPythonText{"PJ005",
                              "not-python-text",
                              Severity::error,
                              true,
                              "It is no Python source text: nothing of it was looked at further.",
                              "Give Python source text, saved as UTF-8."};

namespace {
constexpr Rule kRules[] = {
    {kSyntaxError, nullptr, nullptr},
    {kTooComplex, nullptr, nullptr},
    {kBidiControl, check_bidi_controls, nullptr},
    {kFunctionNotFound, nullptr, make_function_rule},
    {kNotPythonText, nullptr, nullptr},
    {kForbiddenImport, nullptr, make_import_rule},
    {kForbiddenBuiltin, nullptr, make_builtin_rule},
};
}  // namespace

std::span<const Rule> all_rules() {
  return kRules;
}

}  // namespace podjail::python
