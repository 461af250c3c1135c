#pragma once
// CPython's syntax tree in C, and the functions that make and compile it. This is the only file that includes CPython's internal headers
// (which libpythonX.Y-dev ships); node kinds and their numbers change with every minor version, so switches over them name each kind and
// have no default.
#include "python/ref.h"

#define Py_BUILD_CORE 1  // NOLINT(bugprone-reserved-identifier): CPython's own name
#include <pycore_ast.h>
#include <pycore_parser.h>
#include <pycore_pyarena.h>
#undef Py_BUILD_CORE

// Declared here, as pycore_compile.h brings more than C++ can read.
extern "C" PyCodeObject* _PyAST_Compile(mod_ty module, PyObject* filename, PyCompilerFlags* flags, int optimize, PyArena* arena);

#include <memory>
#include <string>

namespace podjail::python {

class ObjectTree;

/// One parsed script.
class SyntaxTree {
 public:
  /// `internal`: CPython's own C tree, 1.5 times as fast; its parser is hidden in the shared libpython, where only `objects` (made from the
  /// tree of the `ast` module by the public API, which every patch level has) can be had.
  enum class By { internal, objects };
  static constexpr By kBest = PODJAIL_PYTHON_IS_SHARED ? By::objects : By::internal;

  /// Parses NUL-terminated UTF-8 without a byte order mark, whatever its coding cookie says. Where that fails, root() is nullptr and a
  /// Python exception is set.
  SyntaxTree(const char* source, PyObject* filename, By by = kBest);
  ~SyntaxTree();
  SyntaxTree(const SyntaxTree&) = delete;
  SyntaxTree& operator=(const SyntaxTree&) = delete;

  [[nodiscard]] mod_ty root() const { return root_; }

  /// Symbol table and compiler. They change the tree (constant folding), so the rules look at it before. nullptr with an exception set
  /// where it can't be compiled.
  Ref compile(PyObject* filename);

 private:
  PyArena* arena_ = nullptr;               // internal
  Ref module_;                             // objects
  std::unique_ptr<ObjectTree> converted_;  // objects
  mod_ty root_ = nullptr;
};

/// Iterates over a possibly absent sequence of the tree (an empty one is NULL).
template <class Sequence, class Function>
void for_each_in(const Sequence* sequence, Function function) {
  if (sequence == nullptr) return;
  for (Py_ssize_t i = 0; i < sequence->size; ++i) function(sequence->typed_elements[i]);
}

/// The text of a constant string expression: a literal, literals joined by `+`, or an f-string without fields. False where it is none.
bool constant_text(expr_ty expression, std::string& text);

/// "json" for `json`, "importlib.util" for `importlib.util`; empty for anything but names joined by dots.
std::string dotted_name(expr_ty expression);

}  // namespace podjail::python
