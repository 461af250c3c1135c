#pragma once
#include "python/ref.h"

namespace podjail::python {

/// While it lives, warnings that the parser and the compiler give (SyntaxWarning, DeprecationWarning for escapes) are counted and not
/// shown: whether a script is accepted is not known yet, `check` prints findings and nothing else, and showing one costs a read of the file
/// up to its line, which 50,000 of them would make minutes.
class CountedWarnings {
 public:
  CountedWarnings();
  ~CountedWarnings();
  CountedWarnings(const CountedWarnings&) = delete;
  CountedWarnings& operator=(const CountedWarnings&) = delete;

  [[nodiscard]] static bool any();  ///< since the last one was made

 private:
  Ref filters_, entry_;
};

}  // namespace podjail::python
