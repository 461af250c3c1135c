#include "python/stderr_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/utf8.h"

namespace podjail::python {
namespace {

// Static, so that an exception for want of memory can be kept too.
std::array<char, StderrCopy::kKept> kept;
std::size_t kept_size = 0;

struct CopyObject {
  PyObject_HEAD PyObject* original;
};

void keep(PyObject* text) {
  if (!PyUnicode_Check(text) || kept_size == kept.size()) return;
  const auto length = std::min(PyUnicode_GET_LENGTH(text), static_cast<Py_ssize_t>(kept.size() - kept_size));
  const Ref part = steal(PyUnicode_Substring(text, 0, length));
  const Ref bytes = part ? steal(PyUnicode_AsEncodedString(part.ptr(), "utf-8", "backslashreplace")) : Ref();
  if (!bytes) {
    PyErr_Clear();
    return;
  }
  const std::string_view all(PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr())));
  const std::string_view fits = utf8_prefix(all, kept.size() - kept_size);
  std::memcpy(kept.data() + kept_size, fits.data(), fits.size());
  kept_size += fits.size();
}

PyObject* copy_write(PyObject* self, PyObject* text) {
  keep(text);
  return PyObject_CallMethod(reinterpret_cast<CopyObject*>(self)->original, "write", "O", text);
}

PyObject* copy_getattr(PyObject* self, PyObject* name) {
  if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "write") == 0) return PyObject_GenericGetAttr(self, name);
  return PyObject_GetAttr(reinterpret_cast<CopyObject*>(self)->original, name);
}

int copy_setattr(PyObject* self, PyObject* name, PyObject* value) {
  return PyObject_SetAttr(reinterpret_cast<CopyObject*>(self)->original, name, value);
}

void copy_dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_DECREF(reinterpret_cast<CopyObject*>(self)->original);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyMethodDef copy_methods[] = {{"write", copy_write, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}
PyType_Slot copy_slots[] = {{Py_tp_getattro, slot(copy_getattr)},
                            {Py_tp_setattro, slot(copy_setattr)},
                            {Py_tp_dealloc, slot(copy_dealloc)},
                            {Py_tp_methods, copy_methods},
                            {0, nullptr}};
PyType_Spec copy_spec{"podjail.StderrCopy", sizeof(CopyObject), 0, Py_TPFLAGS_DEFAULT, copy_slots};

}  // namespace

// The type is made only now, after the script: object.__subclasses__() doesn't show it to it.
StderrCopy::StderrCopy() {
  kept_size = 0;
  PyObject* const original = PySys_GetObject("stderr");
  if (original == nullptr || original == Py_None) return;
  const Ref type = steal(PyType_FromSpec(&copy_spec));
  const Ref copy = type ? steal(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type.ptr()), 0)) : Ref();
  if (copy) {
    Py_INCREF(original);
    reinterpret_cast<CopyObject*>(copy.ptr())->original = original;
    if (PySys_SetObject("stderr", copy.ptr()) == 0) {
      original_ = borrow(original);
      copy_ = copy;
    }
  }
  PyErr_Clear();
}

StderrCopy::~StderrCopy() {
  if (copy_ && PySys_GetObject("stderr") == copy_.ptr()) PySys_SetObject("stderr", original_.ptr());
  PyErr_Clear();
}

std::string_view StderrCopy::text() const {
  return {kept.data(), kept_size};
}

}  // namespace podjail::python
