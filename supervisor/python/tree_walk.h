#pragma once
#include <cstdint>
#include <span>

#include "python/c_tree.h"

namespace podjail::python {

/// A region where names are bound, as Python's symbol table has them. Lives as long as the walk.
struct Scope {
  enum class Kind : std::uint8_t { module, class_body, function, comprehension };
  Kind kind;
  Scope* parent;                ///< nullptr: the module
  std::uint32_t statement = 0;  ///< number of the statement, directly in this scope's body, that the walk is in; from 1
};

/// A name being bound, other than by a `global` or `nonlocal` statement.
struct Binding {
  enum class How : std::uint8_t { store, definition, argument, import, exception, capture };
  PyObject* name;  ///< a str; an identifier is interned
  Scope* scope;    ///< where the name lands if no `global` or `nonlocal` says otherwise; a walrus has left its comprehension already
  How how;
};

/// Sees every node once, in source order. `direct`: the statement stands in the scope's own body and not in an if, a loop, a try …: when
/// control reaches what follows it, it has been carried out.
class TreeVisitor {
 public:
  virtual ~TreeVisitor() = default;
  virtual void statement(stmt_ty, Scope&, bool /*direct*/) {}
  virtual void expression(expr_ty, Scope&) {}
  virtual void binding(const Binding&) {}
  /// Once, after the last node; scopes are still there.
  virtual void finish() {}
};

/// Iterative: the depth of the tree costs heap, never stack.
void walk_tree(mod_ty module, std::span<TreeVisitor* const> visitors);

}  // namespace podjail::python
