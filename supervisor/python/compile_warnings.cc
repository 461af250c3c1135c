#include "python/compile_warnings.h"

namespace podjail::python {
namespace {

bool seen = false;  // CPython's warning filters are global too

PyObject* match(PyObject*, PyObject*) {
  seen = true;
  Py_RETURN_TRUE;
}
PyMethodDef match_method{"match", match, METH_O, nullptr};

}  // namespace

// The entry goes first into warnings.filters: (action, message, category, module, line). A message that is no str is asked by its match()
// whether the warning is meant. sys.implementation's type is types.SimpleNamespace, so no type of ours has to be made.
CountedWarnings::CountedWarnings() {
  seen = false;
  PyObject* const warnings = PyDict_GetItemString(PyImport_GetModuleDict(), "_warnings");
  PyObject* const implementation = PySys_GetObject("implementation");
  if (warnings == nullptr || implementation == nullptr) return;
  const Ref function = steal(PyCFunction_New(&match_method, nullptr));
  const Ref arguments = steal(PyTuple_New(0));
  const Ref keywords = steal(Py_BuildValue("{s:O}", "match", function.ptr()));
  const Ref matcher = keywords && arguments
                          ? steal(PyObject_Call(reinterpret_cast<PyObject*>(Py_TYPE(implementation)), arguments.ptr(), keywords.ptr()))
                          : Ref();
  if (matcher) entry_ = steal(Py_BuildValue("(sOOOi)", "ignore", matcher.ptr(), PyExc_Warning, Py_None, 0));
  filters_ = steal(PyObject_GetAttrString(warnings, "filters"));
  if (!entry_ || !filters_ || !PyList_Check(filters_.ptr()) || PyList_Insert(filters_.ptr(), 0, entry_.ptr()) != 0) {
    PyErr_Clear();
    filters_ = Ref();
  }
}

CountedWarnings::~CountedWarnings() {
  if (!filters_) return;
  PyObject *type, *value, *traceback;  // an exception of the compiler's may be on its way
  PyErr_Fetch(&type, &value, &traceback);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters_.ptr()); ++i) {
    if (PyList_GET_ITEM(filters_.ptr(), i) != entry_.ptr()) continue;
    PyList_SetSlice(filters_.ptr(), i, i + 1, nullptr);
    break;
  }
  PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

bool CountedWarnings::any() {
  return seen;
}

}  // namespace podjail::python
