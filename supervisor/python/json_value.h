#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "python/ref.h"

namespace podjail::python {

struct JsonValue {
  std::optional<std::string> text;  ///< the JSON, nothing left out; nullopt: see below
  std::uint64_t bytes = 0;          ///< its full size, also where that is more than the limit and `text` is absent
  std::string problem;              ///< "$.items[3].when: datetime is not JSON"; empty: there is none
  std::vector<std::string> notes;   ///< "/half lone surrogate": JSON pointer of the value (or the key's object) and what was changed
};

/// A Python value as compact JSON (UTF-8). Runs no code of the script: subclasses of dict, list, tuple, str, int and float are read as what
/// they are built on. Keys are converted as json.dumps does, but keys that become equal are a problem, as are NaN, infinities, cycles and
/// more than 200 levels. Lone surrogates become U+FFFD with a note. Needs the GIL; sets no exception.
JsonValue to_json(PyObject* value, std::uint64_t limit);

}  // namespace podjail::python
