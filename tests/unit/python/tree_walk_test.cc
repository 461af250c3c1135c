#include "python/tree_walk.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "embedded_python.h"
#include "python/check.h"

using namespace podjail::python;

namespace {

namespace fs = std::filesystem;

// Everything that a rule can see, as text.
class Recorder : public TreeVisitor {
 public:
  std::string text;
  void statement(stmt_ty node, Scope& scope, bool direct) override {
    add("s", node->kind, scope);
    place(node);
    text += direct ? "!" : "";
    if (node->kind == ImportFrom_kind) text += std::to_string(node->v.ImportFrom.level);
  }
  void expression(expr_ty node, Scope& scope) override {
    add("e", node->kind, scope);
    place(node);
    if (node->kind == Name_kind) text += std::to_string(node->v.Name.ctx) + text_of(node->v.Name.id, 100);
    if (node->kind == Attribute_kind) text += text_of(node->v.Attribute.attr, 100);
    std::string constant;
    if (node->kind != Name_kind && constant_text(node, constant)) text += '"' + constant + '"';
  }
  void binding(const Binding& bound) override {
    add("b", static_cast<int>(bound.how), *bound.scope);
    text += text_of(bound.name, 100);
  }
  void finish() override { text += "."; }

 private:
  void add(const char* what, int kind, const Scope& scope) {
    text += what + std::to_string(kind) + "/" + std::to_string(static_cast<int>(scope.kind)) + "," + std::to_string(scope.statement) + " ";
  }
  template <class Node>
  void place(const Node* node) {
    for (const int number : {node->lineno, node->col_offset, node->end_lineno, node->end_col_offset}) text += std::to_string(number) + ":";
  }
};

class TreeWalkTest : public EmbeddedPython {
 protected:
  static std::string record(const std::string& source, SyntaxTree::By by = SyntaxTree::kBest) {
    const Ref name = decode_path("x.py");
    SyntaxTree tree(source.c_str(), name.ptr(), by);
    if (tree.root() == nullptr) {
      PyErr_Clear();
      return "error";
    }
    Recorder recorder;
    TreeVisitor* const visitors[] = {&recorder};
    walk_tree(tree.root(), visitors);
    return recorder.text;
  }
};

// The shared libpython has only the objects of the ast module: rules must see the same by either.
TEST_F(TreeWalkTest, BothWaysToATreeGiveTheSame) {
  if (SyntaxTree::kBest != SyntaxTree::By::internal) GTEST_SKIP() << "built against the shared libpython";
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::path& folder : {fs::path(PODJAIL_CORPUS) / "accept", fs::path(PODJAIL_CORPUS) / "reject", fs::path("/usr/lib/python3.11"),
                                 fs::path("/usr/lib/python3.11/asyncio")}) {
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".py" && entry.file_size() < 60'000) files.push_back(entry.path());
    }
  }
  for (const fs::path& file : files) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    const std::string by_tree = record(text.str(), SyntaxTree::By::internal);
    EXPECT_EQ(by_tree, record(text.str(), SyntaxTree::By::objects)) << file;
  }
}

TEST_F(TreeWalkTest, ObjectsCompileToo) {
  const Ref name = decode_path("x.py");
  SyntaxTree good("x = 1\n", name.ptr(), SyntaxTree::By::objects);
  EXPECT_TRUE(good.compile(name.ptr()));
  SyntaxTree bad("return 1\n", name.ptr(), SyntaxTree::By::objects);
  EXPECT_FALSE(bad.compile(name.ptr()));
  EXPECT_NE(PyErr_Occurred(), nullptr);
  PyErr_Clear();
}

TEST_F(TreeWalkTest, ScopesAndOrder) {
  Recorder recorder;
  const std::string text = record("def f(a=b): c\nclass D: e = 1\n[g for g in h if (i := g)]\n");
  // f and D are bound in the module (scope kind 0), a in the function (2), e in the class (1), g in the comprehension (3), i outside of it.
  for (const char* part : {"b1/0,1 f", "b2/2,0 a", "b1/0,2 D", "b0/1,1 e", "b0/3,0 g", "b0/0,3 i"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  EXPECT_LT(text.find("1b"), text.find("1c"));  // the default before the body
}

}  // namespace
