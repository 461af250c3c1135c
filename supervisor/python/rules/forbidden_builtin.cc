#include <map>
#include <set>
#include <unordered_map>

#include "python/findings.h"
#include "python/rules/import_spelling.h"
#include "python/rules/rule.h"

namespace podjail::python {

const RuleInfo kForbiddenBuiltin{"PJ201",
                                 "forbidden-builtin",
                                 Severity::error,
                                 false,
                                 "The policy lists built-in functions that scripts may not use, by whatever reference.",
                                 "Do without it, or ask for a policy that permits it."};

namespace {

// A name is the built-in unless something of the script's own certainly stands in its way: a parameter or variable of an enclosing
// function, or a statement directly in the module's (or the same class's) body that has been carried out by then. A binding that may not
// happen (`if 0: eval = None`) or that is undone (`del eval`) doesn't count: Python would fall back to the built-in.
class BuiltinRule : public TreeVisitor {
 public:
  explicit BuiltinRule(const RuleInput& input) : findings_(input.findings) {
    for (const std::string& name : input.job.deny_builtins) {
      PyObject* const interned = PyUnicode_InternFromString(name.c_str());  // the tree's identifiers are interned too
      if (interned == nullptr) {
        PyErr_Clear();
        continue;
      }
      denied_.emplace(interned, steal(interned));
    }
  }

  void statement(stmt_ty node, Scope& scope, bool direct) override {
    switch (node->kind) {
      case Global_kind:
        declare(node->v.Global.names, scope, globals_);
        break;
      case Nonlocal_kind:
        declare(node->v.Nonlocal.names, scope, nonlocals_);
        break;
      case Import_kind:
        for_each_in(node->v.Import.names, [&](alias_ty alias) { note_builtins_module(alias); });
        if (direct) bind_aliases(node->v.Import.names, scope);
        break;
      case ImportFrom_kind:
        import_from(node);
        if (direct) bind_aliases(node->v.ImportFrom.names, scope);
        break;
      case FunctionDef_kind:
        if (direct) bind_directly(node->v.FunctionDef.name, scope, node->v.FunctionDef.decorator_list == nullptr);
        break;
      case AsyncFunctionDef_kind:
        if (direct) bind_directly(node->v.AsyncFunctionDef.name, scope, node->v.AsyncFunctionDef.decorator_list == nullptr);
        break;
      case ClassDef_kind:
        if (direct) bind_directly(node->v.ClassDef.name, scope, false);
        break;
      case Assign_kind:
        if (direct) for_each_in(node->v.Assign.targets, [&](expr_ty target) { bind_targets(target, scope); });
        break;
      case AnnAssign_kind:
        if (direct && node->v.AnnAssign.value != nullptr) bind_targets(node->v.AnnAssign.target, scope);
        break;
      case Return_kind:
      case Delete_kind:
      case AugAssign_kind:
      case For_kind:
      case AsyncFor_kind:
      case While_kind:
      case If_kind:
      case With_kind:
      case AsyncWith_kind:
      case Match_kind:
      case Raise_kind:
      case Try_kind:
      case TryStar_kind:
      case Assert_kind:
      case Expr_kind:
      case Pass_kind:
      case Break_kind:
      case Continue_kind:
        break;
    }
    if (direct && scope.kind == Scope::Kind::module) module_statement_ = scope.statement;
  }

  void binding(const Binding& bound) override {
    if (!is_denied(bound.name)) return;
    if (bound.how == Binding::How::exception) removed_.emplace(bound.name, bound.scope);  // `except E as name` deletes it at its end
    bound_.emplace(bound.scope, bound.name);
  }

  void expression(expr_ty node, Scope& scope) override {
    if (node->kind == Name_kind) {
      PyObject* const name = node->v.Name.id;
      if (!is_denied(name)) return;
      if (node->v.Name.ctx == Load) {
        loads_.push_back({name, Span::of(node), &scope, module_statement_, scope.statement});
      } else if (node->v.Name.ctx == Del) {
        bound_.emplace(&scope, name);
        removed_.emplace(name, &scope);
      }
    } else if (node->kind == Attribute_kind) {
      if (is_denied(node->v.Attribute.attr)) attribute(node->v.Attribute.value, node->v.Attribute.attr, node);
    } else if (node->kind == Subscript_kind) {
      if (node->v.Subscript.value->kind != Constant_kind) by_text(node->v.Subscript.value, node->v.Subscript.slice, node);
    } else if (node->kind == Call_kind && dotted_name(node->v.Call.func) == "getattr") {
      const asdl_expr_seq* const arguments = node->v.Call.args;
      if (arguments != nullptr && arguments->size >= 2) by_text(arguments->typed_elements[0], arguments->typed_elements[1], node);
    }
  }

  void finish() override {
    for (const Use& load : loads_) {
      if (!is_shadowed(load)) report(load.name, load.span);
    }
    for (const ByModule& use : by_module_) {
      if (modules_.contains(use.module)) report(use.name, use.span);
    }
  }

 private:
  struct Use {
    PyObject* name;
    Span span;
    const Scope* scope;
    std::uint32_t module_statement, scope_statement;
  };
  struct ByModule {
    std::string module;
    PyObject* name;
    Span span;
  };
  struct DirectBinding {
    std::uint32_t statement;  // of its scope; the first one
    bool whole_function;      // an undecorated def: its own body comes after it
  };
  using Key = std::pair<const Scope*, PyObject*>;

  bool is_denied(PyObject* name) const { return denied_.contains(name); }

  void report(PyObject* name, const Span& span) {
    findings_.add(kForbiddenBuiltin, span, "use of the built-in " + text_of(name, 256) + " is forbidden");
  }

  void declare(const asdl_identifier_seq* names, const Scope& scope, std::set<Key>& into) {
    for_each_in(names, [&](PyObject* name) {
      if (is_denied(name)) into.emplace(&scope, name);
    });
  }

  void bind_directly(PyObject* name, const Scope& scope, bool whole_function) {
    if (is_denied(name)) direct_.try_emplace({&scope, name}, DirectBinding{scope.statement, whole_function});
  }
  void bind_aliases(const asdl_alias_seq* names, const Scope& scope) {
    for_each_in(names, [&](alias_ty alias) { bind_directly(alias->asname != nullptr ? alias->asname : alias->name, scope, false); });
  }
  void bind_targets(expr_ty target, const Scope& scope) {
    if (target->kind == Name_kind) {
      bind_directly(target->v.Name.id, scope, false);
    } else if (target->kind == Tuple_kind || target->kind == List_kind) {
      for_each_in(target->kind == Tuple_kind ? target->v.Tuple.elts : target->v.List.elts, [&](expr_ty element) {
        if (element->kind == Name_kind) bind_directly(element->v.Name.id, scope, false);
      });
    }
  }

  void note_builtins_module(alias_ty alias) {
    if (PyUnicode_CompareWithASCIIString(alias->name, "builtins") != 0) return;
    modules_.insert(alias->asname != nullptr ? text_of(alias->asname, 256) : "builtins");
  }

  void import_from(stmt_ty node) {
    const auto& from = node->v.ImportFrom;
    if (from.level > 0 || from.module == nullptr || PyUnicode_CompareWithASCIIString(from.module, "builtins") != 0) return;
    for_each_in(from.names, [&](alias_ty alias) {
      if (is_denied(alias->name)) report(alias->name, Span::of(alias));
    });
  }

  // `base.name`, or `base["name"]` where base is `__builtins__`, or `getattr(base, "name")`.
  void attribute(expr_ty base, PyObject* name, expr_ty whole) {
    // builtins.__dict__["eval"], vars(builtins)["eval"]
    if (base->kind == Attribute_kind && PyUnicode_CompareWithASCIIString(base->v.Attribute.attr, "__dict__") == 0)
      base = base->v.Attribute.value;
    if (base->kind == Call_kind && dotted_name(base->v.Call.func) == "vars" && base->v.Call.args != nullptr &&
        base->v.Call.args->size == 1) {
      base = base->v.Call.args->typed_elements[0];
    }
    if (module_by_spelling(base) == "builtins") {
      report(name, Span::of(whole));
    } else if (base->kind == Name_kind) {
      by_module_.push_back({text_of(base->v.Name.id, 256), name, Span::of(whole)});  // the import may stand further down
    }
  }
  void by_text(expr_ty base, expr_ty key, expr_ty whole) {
    std::string text;
    if (!constant_text(key, text)) return;
    for (const auto& [name, owner] : denied_) {
      if (PyUnicode_CompareWithASCIIString(name, text.c_str()) == 0) attribute(base, name, whole);
    }
  }

  // Whether a function around the use has the name as its own.
  bool in_function(const Scope* scope, PyObject* name, bool& global) {
    for (const Scope* s = scope; s != nullptr; s = s->parent) {
      if (s->kind == Scope::Kind::module || (s->kind == Scope::Kind::class_body && s != scope)) continue;
      if (globals_.contains({s, name})) {
        global = true;
        return false;
      }
      if (s->kind == Scope::Kind::class_body) continue;  // its names fall back to the built-ins; see `direct_`
      if (!nonlocals_.contains({s, name}) && bound_.contains({s, name})) return true;
    }
    return false;
  }

  bool is_shadowed(const Use& load) {
    bool global = false;
    const auto [known, fresh] = resolved_.try_emplace(Key{load.scope, load.name}, std::pair{false, false});
    if (fresh) known->second = {in_function(load.scope, load.name, global), global};
    if (known->second.first) return true;
    if (load.scope->kind == Scope::Kind::class_body && !known->second.second && !is_removed(load.name, load.scope)) {
      const auto found = direct_.find({load.scope, load.name});
      if (found != direct_.end() && found->second.statement < load.scope_statement) return true;
    }
    const Scope* top = load.scope;
    while (top->parent != nullptr) top = top->parent;
    const auto found = direct_.find({top, load.name});
    if (found == direct_.end() || is_removed(load.name, nullptr)) return false;
    if (found->second.statement < load.module_statement) return true;
    return found->second.statement == load.module_statement && found->second.whole_function && load.scope != top;
  }

  // Removals in a function of a name that it doesn't declare global touch only its own; any other may reach the module.
  bool is_removed(PyObject* name, const Scope* within) {
    for (auto it = removed_.lower_bound({name, nullptr}); it != removed_.end() && it->first == name; ++it) {
      const Scope* const scope = it->second;
      if (within != nullptr) {
        if (scope == within) return true;
      } else if (scope->kind == Scope::Kind::module || globals_.contains({scope, name})) {
        return true;
      }
    }
    return false;
  }

  Findings& findings_;
  std::unordered_map<PyObject*, Ref> denied_;
  std::set<Key> bound_, globals_, nonlocals_;
  std::set<std::pair<PyObject*, const Scope*>> removed_;
  std::map<Key, DirectBinding> direct_;
  std::map<Key, std::pair<bool, bool>> resolved_;
  std::set<std::string, std::less<>> modules_;
  std::vector<Use> loads_;
  std::vector<ByModule> by_module_;
  std::uint32_t module_statement_ = 0;
};

}  // namespace

std::unique_ptr<TreeVisitor> make_builtin_rule(const RuleInput& input) {
  if (input.job.deny_builtins.empty()) return nullptr;
  return std::make_unique<BuiltinRule>(input);
}

}  // namespace podjail::python
