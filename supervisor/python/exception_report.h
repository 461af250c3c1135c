#pragma once
#include <optional>
#include <string>

#include "python/ref.h"
#include "wire/wire.h"

namespace podjail::python {

/// Prints the exception that is set as python3 does (sys.excepthook and all) and says what it was; the exception must not be a SystemExit.
/// `filename`: whose frames count for the line. Fills exception and memory_error of `ended`.
void print_exception(PyObject* filename, wire::Ended& ended);

/// The argument of the SystemExit that is set, as JSON, where it can be that; leaves the exception set.
std::optional<std::string> exit_argument();

}  // namespace podjail::python
