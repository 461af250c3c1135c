#include "python/rules/import_spelling.h"

namespace podjail::python {
namespace {

expr_ty argument(expr_ty call, Py_ssize_t position, const char* keyword) {
  const asdl_expr_seq* const positional = call->v.Call.args;
  if (positional != nullptr && position < positional->size) {
    for (Py_ssize_t i = 0; i <= position; ++i) {
      if (positional->typed_elements[i]->kind == Starred_kind) return nullptr;
    }
    return positional->typed_elements[position];
  }
  expr_ty found = nullptr;
  for_each_in(call->v.Call.keywords, [&](keyword_ty one) {
    if (one->arg != nullptr && PyUnicode_CompareWithASCIIString(one->arg, keyword) == 0) found = one->value;
  });
  return found;
}

// The last name of `a.b.f` or `f`.
PyObject* called_name(expr_ty function) {
  if (function->kind == Name_kind) return function->v.Name.id;
  if (function->kind == Attribute_kind) return function->v.Attribute.attr;
  return nullptr;
}

// ".x" of package "a.b" is "a.b.x", "..x" is "a.x" (importlib.util.resolve_name).
std::string resolve_relative(const std::string& name, std::string package) {
  std::size_t dots = 0;
  while (dots < name.size() && name[dots] == '.') ++dots;
  for (std::size_t up = 1; up < dots; ++up) {
    const std::size_t dot = package.rfind('.');
    package.resize(dot == package.npos ? 0 : dot);
  }
  return dots == name.size() ? package : package + "." + name.substr(dots);
}

}  // namespace

std::optional<ConstantImport> constant_import(expr_ty expression) {
  if (expression->kind != Call_kind) return std::nullopt;
  PyObject* const name = called_name(expression->v.Call.func);
  if (name == nullptr) return std::nullopt;
  // By the function's last name, whatever it hangs from: an object with a method `import_module` or `__import__` of another meaning is
  // hardly honest.
  const bool by_dunder = PyUnicode_CompareWithASCIIString(name, "__import__") == 0;
  if (!by_dunder && PyUnicode_CompareWithASCIIString(name, "import_module") != 0) return std::nullopt;
  const expr_ty module = argument(expression, 0, "name");
  ConstantImport found;
  found.by_dunder = by_dunder;
  if (module == nullptr || !constant_text(module, found.module) || found.module.empty()) return std::nullopt;
  if (by_dunder) {
    if (const expr_ty list = argument(expression, 3, "fromlist");
        list != nullptr && (list->kind == Tuple_kind || list->kind == List_kind)) {
      for_each_in(list->kind == Tuple_kind ? list->v.Tuple.elts : list->v.List.elts, [&](expr_ty entry) {
        if (std::string text; constant_text(entry, text)) found.from_list.push_back(std::move(text));
      });
    }
  } else if (found.module.front() == '.') {
    std::string package;
    const expr_ty where = argument(expression, 1, "package");
    if (where == nullptr || !constant_text(where, package)) return std::nullopt;
    found.module = resolve_relative(found.module, package);
  }
  return found;
}

std::string module_by_spelling(expr_ty expression) {
  if (const auto import = constant_import(expression)) {
    const bool top_level = import->by_dunder && import->from_list.empty();
    return top_level ? import->module.substr(0, import->module.find('.')) : import->module;
  }
  if (expression->kind == Name_kind && PyUnicode_CompareWithASCIIString(expression->v.Name.id, "__builtins__") == 0) return "builtins";
  if (expression->kind == Subscript_kind && dotted_name(expression->v.Subscript.value) == "sys.modules") {
    if (std::string module; constant_text(expression->v.Subscript.slice, module)) return module;
  }
  return {};
}

}  // namespace podjail::python
