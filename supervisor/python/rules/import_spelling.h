#pragma once
#include <optional>
#include <string>
#include <vector>

#include "python/c_tree.h"

namespace podjail::python {

/// A call that imports a module whose name is written out: `__import__("os")`, `builtins.__import__("os")`, `importlib.import_module("o"
/// "s")`.
struct ConstantImport {
  std::string module;                  ///< absolute
  std::vector<std::string> from_list;  ///< constant entries of `fromlist`
  bool by_dunder = false;              ///< __import__: the call's value is the top-level module unless there is a fromlist
};

std::optional<ConstantImport> constant_import(expr_ty expression);

/// The module whose attributes `expression` gives access to where it is such a call, `sys.modules["builtins"]`, or `__builtins__`; empty
/// where it is none.
std::string module_by_spelling(expr_ty expression);

}  // namespace podjail::python
