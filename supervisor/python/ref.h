#pragma once
// CPython and pybind11. Only pybind11's handles are used: py::exec, error_already_set and scoped_interpreter leave objects in the
// interpreter that the script could see.
#include <pybind11/pytypes.h>

#include <string>

namespace podjail::python {

using Ref = pybind11::object;

/// Owns what a CPython call returned (a new reference, or nullptr with an exception set).
inline Ref steal(PyObject* object) {
  return pybind11::reinterpret_steal<Ref>(object);
}
inline Ref borrow(PyObject* object) {
  return pybind11::reinterpret_borrow<Ref>(object);
}

/// A str as UTF-8, lone surrogates and all else that UTF-8 lacks as backslash escapes, at most `limit` bytes. Anything but a str: empty.
/// Leaves no exception.
std::string text_of(PyObject* text, std::size_t limit);

/// A str from bytes as the operating system gives them (file names), as os.fsdecode does. nullptr: out of memory.
Ref decode_path(const std::string& path);

}  // namespace podjail::python
