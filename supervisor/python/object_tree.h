#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "python/c_tree.h"

namespace podjail::python {

/// The C tree, made from the objects of Python's `ast` module (which the public API gives), for walking: what the rules don't look at
/// (operators other than
/// `+`, type comments) is left out, and it can't be compiled.
class ObjectTree {
 public:
  /// Takes an `ast.Module`. root() is nullptr, with an exception set, where an object isn't what this Python's grammar has.
  explicit ObjectTree(const Ref& module);

  [[nodiscard]] mod_ty root() const { return root_; }

 private:
  void* allocate(std::size_t size);

  Ref module_;  // owns every object that the nodes point to
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t left_ = 0;
  mod_ty root_ = nullptr;
};

}  // namespace podjail::python
