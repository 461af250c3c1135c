#include "python/object_tree.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

namespace podjail::python {
namespace {

// How a field is stored in its node, and what its objects are.
enum class Kind {
  identifier,
  constant,
  integer,
  context,
  binary_operator,  // a value
  statement,
  expression,
  pattern,
  handler,
  arguments,
  arg,
  keyword,
  alias,
  with_item,
  match_case,
  comprehension,  // a node
};
struct Field {
  const char* name;
  Kind kind;
  bool sequence;
  std::size_t offset;
};
struct NodeType {
  const char* name;
  int kind;
  std::vector<Field> fields;
};

#define EXPR(node, field, kind)                              \
  Field {                                                    \
#field, Kind::kind, false, offsetof(_expr, v.node.field) \
  }
#define EXPRS(node, field, kind)                            \
  Field {                                                   \
#field, Kind::kind, true, offsetof(_expr, v.node.field) \
  }
const std::vector<NodeType>& expression_types() {
  static const std::vector<NodeType> types = {
      {"BoolOp", BoolOp_kind, {EXPRS(BoolOp, values, expression)}},
      {"NamedExpr", NamedExpr_kind, {EXPR(NamedExpr, target, expression), EXPR(NamedExpr, value, expression)}},
      {"BinOp", BinOp_kind, {EXPR(BinOp, left, expression), EXPR(BinOp, op, binary_operator), EXPR(BinOp, right, expression)}},
      {"UnaryOp", UnaryOp_kind, {EXPR(UnaryOp, operand, expression)}},
      {"Lambda", Lambda_kind, {EXPR(Lambda, args, arguments), EXPR(Lambda, body, expression)}},
      {"IfExp", IfExp_kind, {EXPR(IfExp, test, expression), EXPR(IfExp, body, expression), EXPR(IfExp, orelse, expression)}},
      {"Dict", Dict_kind, {EXPRS(Dict, keys, expression), EXPRS(Dict, values, expression)}},
      {"Set", Set_kind, {EXPRS(Set, elts, expression)}},
      {"ListComp", ListComp_kind, {EXPR(ListComp, elt, expression), EXPRS(ListComp, generators, comprehension)}},
      {"SetComp", SetComp_kind, {EXPR(SetComp, elt, expression), EXPRS(SetComp, generators, comprehension)}},
      {"DictComp",
       DictComp_kind,
       {EXPR(DictComp, key, expression), EXPR(DictComp, value, expression), EXPRS(DictComp, generators, comprehension)}},
      {"GeneratorExp", GeneratorExp_kind, {EXPR(GeneratorExp, elt, expression), EXPRS(GeneratorExp, generators, comprehension)}},
      {"Await", Await_kind, {EXPR(Await, value, expression)}},
      {"Yield", Yield_kind, {EXPR(Yield, value, expression)}},
      {"YieldFrom", YieldFrom_kind, {EXPR(YieldFrom, value, expression)}},
      {"Compare", Compare_kind, {EXPR(Compare, left, expression), EXPRS(Compare, comparators, expression)}},
      {"Call", Call_kind, {EXPR(Call, func, expression), EXPRS(Call, args, expression), EXPRS(Call, keywords, keyword)}},
      {"FormattedValue", FormattedValue_kind, {EXPR(FormattedValue, value, expression), EXPR(FormattedValue, format_spec, expression)}},
      {"JoinedStr", JoinedStr_kind, {EXPRS(JoinedStr, values, expression)}},
      {"Constant", Constant_kind, {EXPR(Constant, value, constant)}},
      {"Attribute", Attribute_kind, {EXPR(Attribute, value, expression), EXPR(Attribute, attr, identifier), EXPR(Attribute, ctx, context)}},
      {"Subscript",
       Subscript_kind,
       {EXPR(Subscript, value, expression), EXPR(Subscript, slice, expression), EXPR(Subscript, ctx, context)}},
      {"Starred", Starred_kind, {EXPR(Starred, value, expression), EXPR(Starred, ctx, context)}},
      {"Name", Name_kind, {EXPR(Name, id, identifier), EXPR(Name, ctx, context)}},
      {"List", List_kind, {EXPRS(List, elts, expression), EXPR(List, ctx, context)}},
      {"Tuple", Tuple_kind, {EXPRS(Tuple, elts, expression), EXPR(Tuple, ctx, context)}},
      {"Slice", Slice_kind, {EXPR(Slice, lower, expression), EXPR(Slice, upper, expression), EXPR(Slice, step, expression)}},
  };
  return types;
}
#undef EXPR
#undef EXPRS

#define STMT(node, field, kind)                              \
  Field {                                                    \
#field, Kind::kind, false, offsetof(_stmt, v.node.field) \
  }
#define STMTS(node, field, kind)                            \
  Field {                                                   \
#field, Kind::kind, true, offsetof(_stmt, v.node.field) \
  }
#define FUNCTION(node)                                                                                                              \
  STMT(node, name, identifier), STMT(node, args, arguments), STMTS(node, body, statement), STMTS(node, decorator_list, expression), \
      STMT(node, returns, expression)
#define FOR(node) STMT(node, target, expression), STMT(node, iter, expression), STMTS(node, body, statement), STMTS(node, orelse, statement)
#define TRY_STATEMENT(node) \
  STMTS(node, body, statement), STMTS(node, handlers, handler), STMTS(node, orelse, statement), STMTS(node, finalbody, statement)
const std::vector<NodeType>& statement_types() {
  static const std::vector<NodeType> types = {
      {"FunctionDef", FunctionDef_kind, {FUNCTION(FunctionDef)}},
      {"AsyncFunctionDef", AsyncFunctionDef_kind, {FUNCTION(AsyncFunctionDef)}},
      {"ClassDef",
       ClassDef_kind,
       {STMT(ClassDef, name, identifier), STMTS(ClassDef, bases, expression), STMTS(ClassDef, keywords, keyword),
        STMTS(ClassDef, body, statement), STMTS(ClassDef, decorator_list, expression)}},
      {"Return", Return_kind, {STMT(Return, value, expression)}},
      {"Delete", Delete_kind, {STMTS(Delete, targets, expression)}},
      {"Assign", Assign_kind, {STMTS(Assign, targets, expression), STMT(Assign, value, expression)}},
      {"AugAssign", AugAssign_kind, {STMT(AugAssign, target, expression), STMT(AugAssign, value, expression)}},
      {"AnnAssign",
       AnnAssign_kind,
       {STMT(AnnAssign, target, expression), STMT(AnnAssign, annotation, expression), STMT(AnnAssign, value, expression)}},
      {"For", For_kind, {FOR(For)}},
      {"AsyncFor", AsyncFor_kind, {FOR(AsyncFor)}},
      {"While", While_kind, {STMT(While, test, expression), STMTS(While, body, statement), STMTS(While, orelse, statement)}},
      {"If", If_kind, {STMT(If, test, expression), STMTS(If, body, statement), STMTS(If, orelse, statement)}},
      {"With", With_kind, {STMTS(With, items, with_item), STMTS(With, body, statement)}},
      {"AsyncWith", AsyncWith_kind, {STMTS(AsyncWith, items, with_item), STMTS(AsyncWith, body, statement)}},
      {"Match", Match_kind, {STMT(Match, subject, expression), STMTS(Match, cases, match_case)}},
      {"Raise", Raise_kind, {STMT(Raise, exc, expression), STMT(Raise, cause, expression)}},
      {"Try", Try_kind, {TRY_STATEMENT(Try)}},
      {"TryStar", TryStar_kind, {TRY_STATEMENT(TryStar)}},
      {"Assert", Assert_kind, {STMT(Assert, test, expression), STMT(Assert, msg, expression)}},
      {"Import", Import_kind, {STMTS(Import, names, alias)}},
      {"ImportFrom",
       ImportFrom_kind,
       {STMT(ImportFrom, module, identifier), STMTS(ImportFrom, names, alias), STMT(ImportFrom, level, integer)}},
      {"Global", Global_kind, {STMTS(Global, names, identifier)}},
      {"Nonlocal", Nonlocal_kind, {STMTS(Nonlocal, names, identifier)}},
      {"Expr", Expr_kind, {STMT(Expr, value, expression)}},
      {"Pass", Pass_kind, {}},
      {"Break", Break_kind, {}},
      {"Continue", Continue_kind, {}},
  };
  return types;
}
#undef STMT
#undef STMTS
#undef FUNCTION
#undef FOR
#undef TRY_STATEMENT

#define PATTERN(node, field, kind)                              \
  Field {                                                       \
#field, Kind::kind, false, offsetof(_pattern, v.node.field) \
  }
#define PATTERNS(node, field, kind)                            \
  Field {                                                      \
#field, Kind::kind, true, offsetof(_pattern, v.node.field) \
  }
const std::vector<NodeType>& pattern_types() {
  static const std::vector<NodeType> types = {
      {"MatchValue", MatchValue_kind, {PATTERN(MatchValue, value, expression)}},
      {"MatchSingleton", MatchSingleton_kind, {PATTERN(MatchSingleton, value, constant)}},
      {"MatchSequence", MatchSequence_kind, {PATTERNS(MatchSequence, patterns, pattern)}},
      {"MatchMapping",
       MatchMapping_kind,
       {PATTERNS(MatchMapping, keys, expression), PATTERNS(MatchMapping, patterns, pattern), PATTERN(MatchMapping, rest, identifier)}},
      {"MatchClass",
       MatchClass_kind,
       {PATTERN(MatchClass, cls, expression), PATTERNS(MatchClass, patterns, pattern), PATTERNS(MatchClass, kwd_attrs, identifier),
        PATTERNS(MatchClass, kwd_patterns, pattern)}},
      {"MatchStar", MatchStar_kind, {PATTERN(MatchStar, name, identifier)}},
      {"MatchAs", MatchAs_kind, {PATTERN(MatchAs, pattern, pattern), PATTERN(MatchAs, name, identifier)}},
      {"MatchOr", MatchOr_kind, {PATTERNS(MatchOr, patterns, pattern)}},
  };
  return types;
}
#undef PATTERN
#undef PATTERNS

// Node kinds that are one struct: their table has one row, which `kind` doesn't matter for.
#define ONE(type, field, kind)                       \
  Field {                                            \
#field, Kind::kind, false, offsetof(type, field) \
  }
#define MANY(type, field, kind)                     \
  Field {                                           \
#field, Kind::kind, true, offsetof(type, field) \
  }
const std::vector<Field>& fields_of(Kind kind) {
  static const std::vector<Field> handler = {Field{"type", Kind::expression, false, offsetof(_excepthandler, v.ExceptHandler.type)},
                                             Field{"name", Kind::identifier, false, offsetof(_excepthandler, v.ExceptHandler.name)},
                                             Field{"body", Kind::statement, true, offsetof(_excepthandler, v.ExceptHandler.body)}};
  static const std::vector<Field> arguments = {MANY(_arguments, posonlyargs, arg),
                                               MANY(_arguments, args, arg),
                                               ONE(_arguments, vararg, arg),
                                               MANY(_arguments, kwonlyargs, arg),
                                               MANY(_arguments, kw_defaults, expression),
                                               ONE(_arguments, kwarg, arg),
                                               MANY(_arguments, defaults, expression)};
  static const std::vector<Field> arg = {ONE(_arg, arg, identifier), ONE(_arg, annotation, expression)};
  static const std::vector<Field> keyword = {ONE(_keyword, arg, identifier), ONE(_keyword, value, expression)};
  static const std::vector<Field> alias = {ONE(_alias, name, identifier), ONE(_alias, asname, identifier)};
  static const std::vector<Field> with_item = {ONE(_withitem, context_expr, expression), ONE(_withitem, optional_vars, expression)};
  static const std::vector<Field> match_case = {ONE(_match_case, pattern, pattern), ONE(_match_case, guard, expression),
                                                MANY(_match_case, body, statement)};
  static const std::vector<Field> comprehension = {ONE(_comprehension, target, expression), ONE(_comprehension, iter, expression),
                                                   MANY(_comprehension, ifs, expression), ONE(_comprehension, is_async, integer)};
  static const std::vector<Field> none;
  switch (kind) {
    case Kind::handler:
      return handler;
    case Kind::arguments:
      return arguments;
    case Kind::arg:
      return arg;
    case Kind::keyword:
      return keyword;
    case Kind::alias:
      return alias;
    case Kind::with_item:
      return with_item;
    case Kind::match_case:
      return match_case;
    case Kind::comprehension:
      return comprehension;
    case Kind::identifier:
    case Kind::constant:
    case Kind::integer:
    case Kind::context:
    case Kind::binary_operator:
    case Kind::statement:
    case Kind::expression:
    case Kind::pattern:
      return none;
  }
  return none;
}
#undef ONE
#undef MANY

const NodeType* find_type(const std::vector<NodeType>& types, std::string_view name) {
  const auto found = std::find_if(types.begin(), types.end(), [&](const NodeType& type) { return name == type.name; });
  return found == types.end() ? nullptr : &*found;
}

int read_int(PyObject* object, const char* name) {
  const Ref value = steal(PyObject_GetAttrString(object, name));
  const long number = value && PyLong_Check(value.ptr()) ? PyLong_AsLong(value.ptr()) : 0;
  PyErr_Clear();
  return static_cast<int>(number);
}

template <class Node>
void read_position(PyObject* object, Node* node) {
  node->lineno = read_int(object, "lineno");
  node->col_offset = read_int(object, "col_offset");
  node->end_lineno = read_int(object, "end_lineno");
  node->end_col_offset = read_int(object, "end_col_offset");
}

struct Open {
  PyObject* object;  // borrowed: the module owns it
  Kind kind;
  bool sequence;
  void* slot;  // where the value or the node's address goes
};

}  // namespace

void* ObjectTree::allocate(std::size_t size) {
  constexpr std::size_t kBlock = 64U << 10;
  size = (size + 15) & ~std::size_t{15};
  if (size > kBlock) {  // a block of its own, behind the current one
    blocks_.insert(blocks_.begin(), std::make_unique<char[]>(size));
    return blocks_.front().get();
  }
  if (left_ < size) {
    blocks_.push_back(std::make_unique<char[]>(kBlock));  // zeroed
    left_ = kBlock;
  }
  void* const place = blocks_.back().get() + (kBlock - left_);
  left_ -= size;
  return place;
}

ObjectTree::ObjectTree(const Ref& module) : module_(module) {
  auto* const root = static_cast<mod_ty>(allocate(sizeof(_mod)));
  root->kind = Module_kind;
  std::vector<Open> open;
  const auto schedule = [&open](PyObject* object, std::span<const Field> fields, void* node) {
    for (const Field& field : fields) {
      const Ref value = steal(PyObject_GetAttrString(object, field.name));
      if (!value) return false;
      // The node keeps it alive after `value` has let go.
      open.push_back({value.ptr(), field.kind, field.sequence, static_cast<char*>(node) + field.offset});
    }
    return true;
  };
  // A node of a type of the table, with its kind in front and its place behind.
  const auto begin_node = [&]<class Node>(PyObject* object, const std::vector<NodeType>& types, Node*& slot) {
    const NodeType* const type = find_type(types, Py_TYPE(object)->tp_name);
    if (type == nullptr) {
      PyErr_Format(PyExc_SystemError, "podjail doesn't know the syntax node %s", Py_TYPE(object)->tp_name);
      return false;
    }
    slot = static_cast<Node*>(allocate(sizeof(Node)));
    slot->kind = static_cast<decltype(slot->kind)>(type->kind);
    read_position(object, slot);
    return schedule(object, type->fields, slot);
  };
  const auto begin_plain = [&]<class Node>(PyObject* object, Kind kind, Node*& slot) {
    slot = static_cast<Node*>(allocate(sizeof(Node)));
    return schedule(object, fields_of(kind), slot);
  };
  const auto begin_placed = [&]<class Node>(PyObject* object, Kind kind, Node*& slot) {
    if (!begin_plain(object, kind, slot)) return false;
    read_position(object, slot);
    return true;
  };
  const Field body{"body", Kind::statement, true, offsetof(_mod, v.Module.body)};
  bool good = schedule(module.ptr(), {&body, 1}, root);
  while (good && !open.empty()) {
    const Open item = open.back();
    open.pop_back();
    if (item.sequence) {
      const Py_ssize_t size = PyList_Check(item.object) ? PyList_GET_SIZE(item.object) : 0;
      if (size == 0) continue;  // NULL, as in CPython's own
      auto* const sequence = static_cast<asdl_expr_seq*>(allocate(sizeof(asdl_expr_seq) + static_cast<std::size_t>(size) * sizeof(void*)));
      sequence->size = size;
      sequence->elements = reinterpret_cast<void**>(sequence->typed_elements);
      *static_cast<void**>(item.slot) = sequence;
      for (Py_ssize_t i = 0; i < size; ++i)
        open.push_back({PyList_GET_ITEM(item.object, i), item.kind, false, &sequence->typed_elements[i]});
      continue;
    }
    const std::string_view type_name = Py_TYPE(item.object)->tp_name;
    if (item.object == Py_None && item.kind != Kind::constant) continue;  // NULL
    switch (item.kind) {
      case Kind::identifier:
      case Kind::constant:
        *static_cast<PyObject**>(item.slot) = item.object;
        break;
      case Kind::integer:
        *static_cast<int*>(item.slot) = static_cast<int>(PyLong_AsLong(item.object));
        break;
      case Kind::context:
        *static_cast<expr_context_ty*>(item.slot) = type_name == "Store" ? Store : type_name == "Del" ? Del : Load;
        break;
      case Kind::binary_operator:
        *static_cast<operator_ty*>(item.slot) = type_name == "Add" ? Add : Sub;
        break;
      case Kind::statement:
        good = begin_node(item.object, statement_types(), *static_cast<stmt_ty*>(item.slot));
        break;
      case Kind::expression:
        good = begin_node(item.object, expression_types(), *static_cast<expr_ty*>(item.slot));
        break;
      case Kind::pattern:
        good = begin_node(item.object, pattern_types(), *static_cast<pattern_ty*>(item.slot));
        break;
      case Kind::handler:
        good = begin_placed(item.object, item.kind, *static_cast<excepthandler_ty*>(item.slot));
        if (good) (*static_cast<excepthandler_ty*>(item.slot))->kind = ExceptHandler_kind;
        break;
      case Kind::arguments:
        good = begin_plain(item.object, item.kind, *static_cast<arguments_ty*>(item.slot));
        break;
      case Kind::arg:
        good = begin_placed(item.object, item.kind, *static_cast<arg_ty*>(item.slot));
        break;
      case Kind::keyword:
        good = begin_placed(item.object, item.kind, *static_cast<keyword_ty*>(item.slot));
        break;
      case Kind::alias:
        good = begin_placed(item.object, item.kind, *static_cast<alias_ty*>(item.slot));
        break;
      case Kind::with_item:
        good = begin_plain(item.object, item.kind, *static_cast<withitem_ty*>(item.slot));
        break;
      case Kind::match_case:
        good = begin_plain(item.object, item.kind, *static_cast<match_case_ty*>(item.slot));
        break;
      case Kind::comprehension:
        good = begin_plain(item.object, item.kind, *static_cast<comprehension_ty*>(item.slot));
        break;
    }
  }
  if (good) root_ = root;
}

}  // namespace podjail::python
