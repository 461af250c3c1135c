#include "python/tree_walk.h"

#include <algorithm>
#include <deque>
#include <vector>

namespace podjail::python {
namespace {

class Walk {
 public:
  explicit Walk(std::span<TreeVisitor* const> visitors) : visitors_(visitors) {}

  void run(mod_ty module) {
    Scope& top = new_scope(Scope::Kind::module, nullptr);
    switch (module->kind) {
      case Module_kind:
        push_body(module->v.Module.body, top, true);
        break;
      case Interactive_kind:
        push_body(module->v.Interactive.body, top, true);
        break;
      case Expression_kind:
        push(module->v.Expression.body, top);
        break;
      case FunctionType_kind:
        push_all(module->v.FunctionType.argtypes, top);
        push(module->v.FunctionType.returns, top);
        break;
    }
    std::reverse(open_.begin(), open_.end());
    while (!open_.empty()) {
      const Item item = open_.back();
      open_.pop_back();
      const std::size_t before = open_.size();
      switch (item.node) {
        case Node::statement:
          visit(static_cast<stmt_ty>(item.pointer), *item.scope, item.direct);
          break;
        case Node::expression:
          visit(static_cast<expr_ty>(item.pointer), *item.scope);
          break;
        case Node::pattern:
          visit(static_cast<pattern_ty>(item.pointer), *item.scope);
          break;
      }
      // Children are pushed in source order; the first has to be on top.
      std::reverse(open_.begin() + static_cast<std::ptrdiff_t>(before), open_.end());
    }
    for (TreeVisitor* visitor : visitors_) visitor->finish();
  }

 private:
  enum class Node : std::uint8_t { statement, expression, pattern };
  struct Item {
    void* pointer;
    Scope* scope;
    Node node;
    bool direct;
  };

  Scope& new_scope(Scope::Kind kind, Scope* parent) { return scopes_.emplace_back(Scope{kind, parent}); }

  void push(expr_ty node, Scope& scope) {
    if (node != nullptr) open_.push_back({node, &scope, Node::expression, false});
  }
  void push(pattern_ty node, Scope& scope) {
    if (node != nullptr) open_.push_back({node, &scope, Node::pattern, false});
  }
  void push_body(const asdl_stmt_seq* body, Scope& scope, bool direct) {
    for_each_in(body, [&](stmt_ty node) { open_.push_back({node, &scope, Node::statement, direct}); });
  }
  template <class Sequence>
  void push_all(const Sequence* nodes, Scope& scope) {
    for_each_in(nodes, [&](auto node) { push(node, scope); });
  }

  void bind(PyObject* name, Scope& scope, Binding::How how) {
    if (name == nullptr) return;
    for (TreeVisitor* visitor : visitors_) visitor->binding({name, &scope, how});
  }

  // What an argument list evaluates outside the function, then the names it binds inside.
  void push_arguments(arguments_ty arguments, Scope& outer, Scope& inner) {
    push_all(arguments->defaults, outer);
    push_all(arguments->kw_defaults, outer);  // NULL entries: keyword-only without a default
    const auto one = [&](arg_ty argument) {
      if (argument == nullptr) return;
      push(argument->annotation, outer);
      bind(argument->arg, inner, Binding::How::argument);
    };
    for_each_in(arguments->posonlyargs, one);
    for_each_in(arguments->args, one);
    one(arguments->vararg);
    for_each_in(arguments->kwonlyargs, one);
    one(arguments->kwarg);
  }

  template <class Function>
  void push_function(Function& function, Scope& scope) {
    bind(function.name, scope, Binding::How::definition);
    Scope& inner = new_scope(Scope::Kind::function, &scope);
    push_all(function.decorator_list, scope);
    push_arguments(function.args, scope, inner);
    push(function.returns, scope);
    push_body(function.body, inner, true);
  }

  template <class Loop>
  void push_for(Loop& loop, Scope& scope) {
    push(loop.iter, scope);
    push(loop.target, scope);
    push_body(loop.body, scope, false);
    push_body(loop.orelse, scope, false);
  }

  template <class With>
  void push_with(With& with, Scope& scope) {
    for_each_in(with.items, [&](withitem_ty item) {
      push(item->context_expr, scope);
      push(item->optional_vars, scope);
    });
    push_body(with.body, scope, false);
  }

  template <class Try>
  void push_try(Try& statement, Scope& scope) {
    push_body(statement.body, scope, false);
    for_each_in(statement.handlers, [&](excepthandler_ty handler) {
      switch (handler->kind) {
        case ExceptHandler_kind:
          push(handler->v.ExceptHandler.type, scope);
          bind(handler->v.ExceptHandler.name, scope, Binding::How::exception);
          push_body(handler->v.ExceptHandler.body, scope, false);
          break;
      }
    });
    push_body(statement.orelse, scope, false);
    push_body(statement.finalbody, scope, false);
  }

  void push_comprehension(const asdl_comprehension_seq* generators, std::initializer_list<expr_ty> elements, Scope& scope) {
    Scope& inner = new_scope(Scope::Kind::comprehension, &scope);
    bool first = true;
    for_each_in(generators, [&](comprehension_ty generator) {
      push(generator->iter, first ? scope : inner);  // the first iterable is evaluated outside
      push(generator->target, inner);
      push_all(generator->ifs, inner);
      first = false;
    });
    for (expr_ty element : elements) push(element, inner);
  }

  // PEP 572: a walrus binds in the scope that holds the comprehension.
  static Scope& without_comprehensions(Scope& scope) {
    Scope* found = &scope;
    while (found->kind == Scope::Kind::comprehension) found = found->parent;
    return *found;
  }

  void visit(stmt_ty node, Scope& scope, bool direct) {
    if (direct) ++scope.statement;
    for (TreeVisitor* visitor : visitors_) visitor->statement(node, scope, direct);
    auto& v = node->v;
    switch (node->kind) {
      case FunctionDef_kind:
        push_function(v.FunctionDef, scope);
        break;
      case AsyncFunctionDef_kind:
        push_function(v.AsyncFunctionDef, scope);
        break;
      case ClassDef_kind: {
        bind(v.ClassDef.name, scope, Binding::How::definition);
        push_all(v.ClassDef.decorator_list, scope);
        push_all(v.ClassDef.bases, scope);
        for_each_in(v.ClassDef.keywords, [&](keyword_ty keyword) { push(keyword->value, scope); });
        push_body(v.ClassDef.body, new_scope(Scope::Kind::class_body, &scope), true);
        break;
      }
      case Return_kind:
        push(v.Return.value, scope);
        break;
      case Delete_kind:
        push_all(v.Delete.targets, scope);
        break;
      case Assign_kind:
        push_all(v.Assign.targets, scope);
        push(v.Assign.value, scope);
        break;
      case AugAssign_kind:
        push(v.AugAssign.target, scope);
        push(v.AugAssign.value, scope);
        break;
      case AnnAssign_kind:
        push(v.AnnAssign.target, scope);
        push(v.AnnAssign.annotation, scope);
        push(v.AnnAssign.value, scope);
        break;
      case For_kind:
        push_for(v.For, scope);
        break;
      case AsyncFor_kind:
        push_for(v.AsyncFor, scope);
        break;
      case While_kind:
        push(v.While.test, scope);
        push_body(v.While.body, scope, false);
        push_body(v.While.orelse, scope, false);
        break;
      case If_kind:
        push(v.If.test, scope);
        push_body(v.If.body, scope, false);
        push_body(v.If.orelse, scope, false);
        break;
      case With_kind:
        push_with(v.With, scope);
        break;
      case AsyncWith_kind:
        push_with(v.AsyncWith, scope);
        break;
      case Match_kind:
        push(v.Match.subject, scope);
        for_each_in(v.Match.cases, [&](match_case_ty one) {
          push(one->pattern, scope);
          push(one->guard, scope);
          push_body(one->body, scope, false);
        });
        break;
      case Raise_kind:
        push(v.Raise.exc, scope);
        push(v.Raise.cause, scope);
        break;
      case Try_kind:
        push_try(v.Try, scope);
        break;
      case TryStar_kind:
        push_try(v.TryStar, scope);
        break;
      case Assert_kind:
        push(v.Assert.test, scope);
        push(v.Assert.msg, scope);
        break;
      case Import_kind:
        bind_imports(v.Import.names, scope, /*from=*/false);
        break;
      case ImportFrom_kind:
        bind_imports(v.ImportFrom.names, scope, /*from=*/true);
        break;
      case Global_kind:
        break;
      case Nonlocal_kind:
        break;
      case Expr_kind:
        push(v.Expr.value, scope);
        break;
      case Pass_kind:
        break;
      case Break_kind:
        break;
      case Continue_kind:
        break;
    }
  }

  // `import a.b` binds a; `import a.b as c` and `from a import b as c` bind c.
  void bind_imports(const asdl_alias_seq* names, Scope& scope, bool from) {
    for_each_in(names, [&](alias_ty alias) {
      if (alias->asname != nullptr || from) {
        bind(alias->asname != nullptr ? alias->asname : alias->name, scope, Binding::How::import);
        return;
      }
      const Py_ssize_t dot = PyUnicode_FindChar(alias->name, '.', 0, PyUnicode_GET_LENGTH(alias->name), 1);
      if (dot < 0) {
        bind(alias->name, scope, Binding::How::import);
        return;
      }
      PyObject* head = PyUnicode_Substring(alias->name, 0, dot);
      if (head == nullptr) {
        PyErr_Clear();
        return;
      }
      PyUnicode_InternInPlace(&head);
      bind(head, scope, Binding::How::import);
      Py_DECREF(head);
    });
  }

  void visit(expr_ty node, Scope& scope) {
    for (TreeVisitor* visitor : visitors_) visitor->expression(node, scope);
    auto& v = node->v;
    switch (node->kind) {
      case BoolOp_kind:
        push_all(v.BoolOp.values, scope);
        break;
      case NamedExpr_kind:
        bind(v.NamedExpr.target->v.Name.id, without_comprehensions(scope), Binding::How::store);
        push(v.NamedExpr.value, scope);
        break;
      case BinOp_kind:
        push(v.BinOp.left, scope);
        push(v.BinOp.right, scope);
        break;
      case UnaryOp_kind:
        push(v.UnaryOp.operand, scope);
        break;
      case Lambda_kind: {
        Scope& inner = new_scope(Scope::Kind::function, &scope);
        push_arguments(v.Lambda.args, scope, inner);
        push(v.Lambda.body, inner);
        break;
      }
      case IfExp_kind:
        push(v.IfExp.body, scope);
        push(v.IfExp.test, scope);
        push(v.IfExp.orelse, scope);
        break;
      case Dict_kind:
        push_all(v.Dict.keys, scope);  // NULL entries: `**mapping`
        push_all(v.Dict.values, scope);
        break;
      case Set_kind:
        push_all(v.Set.elts, scope);
        break;
      case ListComp_kind:
        push_comprehension(v.ListComp.generators, {v.ListComp.elt}, scope);
        break;
      case SetComp_kind:
        push_comprehension(v.SetComp.generators, {v.SetComp.elt}, scope);
        break;
      case DictComp_kind:
        push_comprehension(v.DictComp.generators, {v.DictComp.key, v.DictComp.value}, scope);
        break;
      case GeneratorExp_kind:
        push_comprehension(v.GeneratorExp.generators, {v.GeneratorExp.elt}, scope);
        break;
      case Await_kind:
        push(v.Await.value, scope);
        break;
      case Yield_kind:
        push(v.Yield.value, scope);
        break;
      case YieldFrom_kind:
        push(v.YieldFrom.value, scope);
        break;
      case Compare_kind:
        push(v.Compare.left, scope);
        push_all(v.Compare.comparators, scope);
        break;
      case Call_kind:
        push(v.Call.func, scope);
        push_all(v.Call.args, scope);
        for_each_in(v.Call.keywords, [&](keyword_ty keyword) { push(keyword->value, scope); });
        break;
      case FormattedValue_kind:
        push(v.FormattedValue.value, scope);
        push(v.FormattedValue.format_spec, scope);
        break;
      case JoinedStr_kind:
        push_all(v.JoinedStr.values, scope);
        break;
      case Constant_kind:
        break;
      case Attribute_kind:
        push(v.Attribute.value, scope);
        break;
      case Subscript_kind:
        push(v.Subscript.value, scope);
        push(v.Subscript.slice, scope);
        break;
      case Starred_kind:
        push(v.Starred.value, scope);
        break;
      case Name_kind:
        if (v.Name.ctx == Store) bind(v.Name.id, scope, Binding::How::store);
        break;
      case List_kind:
        push_all(v.List.elts, scope);
        break;
      case Tuple_kind:
        push_all(v.Tuple.elts, scope);
        break;
      case Slice_kind:
        push(v.Slice.lower, scope);
        push(v.Slice.upper, scope);
        push(v.Slice.step, scope);
        break;
    }
  }

  void visit(pattern_ty node, Scope& scope) {
    auto& v = node->v;
    switch (node->kind) {
      case MatchValue_kind:
        push(v.MatchValue.value, scope);
        break;
      case MatchSingleton_kind:
        break;
      case MatchSequence_kind:
        push_all(v.MatchSequence.patterns, scope);
        break;
      case MatchMapping_kind:
        push_all(v.MatchMapping.keys, scope);
        push_all(v.MatchMapping.patterns, scope);
        bind(v.MatchMapping.rest, scope, Binding::How::capture);
        break;
      case MatchClass_kind:
        push(v.MatchClass.cls, scope);
        push_all(v.MatchClass.patterns, scope);
        push_all(v.MatchClass.kwd_patterns, scope);
        break;
      case MatchStar_kind:
        bind(v.MatchStar.name, scope, Binding::How::capture);
        break;
      case MatchAs_kind:
        push(v.MatchAs.pattern, scope);
        bind(v.MatchAs.name, scope, Binding::How::capture);
        break;
      case MatchOr_kind:
        push_all(v.MatchOr.patterns, scope);
        break;
    }
  }

  std::span<TreeVisitor* const> visitors_;
  std::vector<Item> open_;
  std::deque<Scope> scopes_;  // a deque: references stay valid
};

}  // namespace

void walk_tree(mod_ty module, std::span<TreeVisitor* const> visitors) {
  Walk(visitors).run(module);
}

}  // namespace podjail::python
