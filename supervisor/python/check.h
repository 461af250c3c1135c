#pragma once
#include <string>

#include "python/ref.h"
#include "wire/wire.h"

namespace podjail::python {

struct Checked {
  wire::Verdict verdict;
  Ref code;             ///< the code object, where the verdict is "accepted"
  bool warned = false;  ///< the compiler had warnings, which nobody has seen yet: show_compile_warnings
};

/// Text checks, pre-scan, parser, rules, symbol table and compiler, in that order. Never runs anything of the script. `source` is what the
/// file holds; `filename` becomes co_filename. With job.validate false the rules are left out; what can't be compiled is rejected all the
/// same.
Checked check_script(const wire::Job& job, const std::string& source, PyObject* filename);

/// Compiles once more, only for its warnings on sys.stderr. False with an exception set where a filter makes one an error.
bool show_compile_warnings(const std::string& source, PyObject* filename);

}  // namespace podjail::python
