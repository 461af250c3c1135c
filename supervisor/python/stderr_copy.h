#pragma once
#include <string_view>

#include "python/ref.h"

namespace podjail::python {

/// While it lives, sys.stderr is an object that passes everything on to the real one and keeps the first 64 KiB of what is written:
/// python3's own way of printing an exception shows it once, calls the script's __str__ once, and we have the text. Where sys.stderr is
/// missing or None, nothing is done.
class StderrCopy {
 public:
  static constexpr std::size_t kKept = 64U << 10;

  StderrCopy();
  ~StderrCopy();
  StderrCopy(const StderrCopy&) = delete;
  StderrCopy& operator=(const StderrCopy&) = delete;

  [[nodiscard]] std::string_view text() const;  ///< valid UTF-8; surrogates as escapes

 private:
  Ref original_, copy_;
};

}  // namespace podjail::python
