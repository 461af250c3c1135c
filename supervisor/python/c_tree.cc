#include "python/c_tree.h"

#include <vector>

#include "python/object_tree.h"

namespace podjail::python {

SyntaxTree::SyntaxTree(const char* source, PyObject* filename, By by) {
  PyCompilerFlags flags{PyCF_IGNORE_COOKIE, PY_MINOR_VERSION};
#if !PODJAIL_PYTHON_IS_SHARED
  if (by == By::internal) {
    arena_ = _PyArena_New();
    if (arena_ != nullptr) root_ = _PyParser_ASTFromString(source, filename, Py_file_input, &flags, arena_);
    return;
  }
#endif
  (void)by;
  flags.cf_flags |= PyCF_ONLY_AST;
  module_ = steal(Py_CompileStringObject(source, filename, Py_file_input, &flags, /*optimize=*/-1));
  if (!module_) return;
  converted_ = std::make_unique<ObjectTree>(module_);
  root_ = converted_->root();
}

SyntaxTree::~SyntaxTree() {
#if !PODJAIL_PYTHON_IS_SHARED
  if (arena_ != nullptr) _PyArena_Free(arena_);
#endif
}

Ref SyntaxTree::compile(PyObject* filename) {
#if !PODJAIL_PYTHON_IS_SHARED
  if (!module_) {
    PyCompilerFlags flags{0, PY_MINOR_VERSION};
    return steal(reinterpret_cast<PyObject*>(_PyAST_Compile(root_, filename, &flags, /*optimize=*/-1, arena_)));
  }
#endif
  // compile(tree, filename, "exec", flags=0, dont_inherit=True)
  PyObject* const builtins = PyEval_GetBuiltins();
  PyObject* const function = builtins != nullptr ? PyDict_GetItemString(builtins, "compile") : nullptr;
  if (function == nullptr) return {};
  return steal(PyObject_CallFunction(function, "OOsii", module_.ptr(), filename, "exec", 0, 1));
}

bool constant_text(expr_ty expression, std::string& text) {
  constexpr std::size_t kMaxParts = 1000;  // an expression of more parts is no spelling of a name
  std::vector<expr_ty> open{expression};
  std::size_t parts = 0;
  while (!open.empty()) {
    const expr_ty part = open.back();
    open.pop_back();
    if (++parts > kMaxParts) return false;
    if (part->kind == Constant_kind && PyUnicode_Check(part->v.Constant.value)) {
      text += text_of(part->v.Constant.value, 4096);
    } else if (part->kind == BinOp_kind && part->v.BinOp.op == Add) {
      open.push_back(part->v.BinOp.right);
      open.push_back(part->v.BinOp.left);
    } else if (part->kind == JoinedStr_kind) {
      const asdl_expr_seq* const values = part->v.JoinedStr.values;
      for (Py_ssize_t i = values == nullptr ? 0 : values->size; i > 0; --i) open.push_back(values->typed_elements[i - 1]);
    } else {
      return false;
    }
  }
  return true;
}

std::string dotted_name(expr_ty expression) {
  std::string name;
  constexpr int kMaxDots = 32;
  for (int dots = 0; dots < kMaxDots; ++dots) {
    if (expression->kind == Name_kind) {
      const std::string head = text_of(expression->v.Name.id, 256);
      return name.empty() ? head : head + "." + name;
    }
    if (expression->kind != Attribute_kind) return {};
    const std::string attribute = text_of(expression->v.Attribute.attr, 256);
    name = name.empty() ? attribute : attribute + "." + name;
    expression = expression->v.Attribute.value;
  }
  return {};
}

}  // namespace podjail::python
