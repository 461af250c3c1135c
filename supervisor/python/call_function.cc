#include "python/call_function.h"

#include <algorithm>

#include "base/units.h"
#include "python/function_names.h"
#include "python/json_value.h"

namespace podjail::python {
namespace {

// The file's stem, where a module can be called that and no module of the standard library is: the script must not stand in the way of
// `import json`.
std::string module_name(const std::string& script_path) {
  std::string stem = script_path.substr(script_path.rfind('/') + 1);
  stem = stem.substr(0, stem.rfind('.'));
  const Ref name = decode_path(stem);
  PyObject* const library = PySys_GetObject("stdlib_module_names");
  const bool usable = name && PyUnicode_IsIdentifier(name.ptr()) == 1 && stem != "__main__" &&
                      (library == nullptr || PySet_Contains(library, name.ptr()) == 0) &&
                      PyDict_Contains(PyImport_GetModuleDict(), name.ptr()) == 0;
  PyErr_Clear();
  return usable ? stem : "script";
}

// A module as `import` would have made it: in sys.modules, with __file__, __loader__ and __spec__.
Ref make_module(const std::string& name, const Ref& filename) {
  PyObject* const external = PyDict_GetItemString(PyImport_GetModuleDict(), "_frozen_importlib_external");
  PyObject* const bootstrap = PyDict_GetItemString(PyImport_GetModuleDict(), "_frozen_importlib");
  if (external == nullptr || bootstrap == nullptr) return {};
  const Ref spec = steal(PyObject_CallMethod(external, "spec_from_file_location", "sO", name.c_str(), filename.ptr()));
  const Ref module = spec ? steal(PyObject_CallMethod(bootstrap, "module_from_spec", "O", spec.ptr())) : Ref();
  if (!module || PyDict_SetItemString(PyImport_GetModuleDict(), name.c_str(), module.ptr()) != 0) return {};
  return module;
}

// Of the exception that is set; takes it away.
std::string pending_message() {
  PyObject *type = nullptr, *error = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  const Ref held_type = steal(type), held = steal(error), held_traceback = steal(traceback);
  const Ref text = held ? steal(PyObject_Str(held.ptr())) : Ref();
  PyErr_Clear();
  return text_of(text.ptr(), 500);
}

// json.loads takes NaN, Infinity and -Infinity, which RFC 8259 doesn't have; its `parse_constant` hook sees just these.
PyObject* refuse_constant(PyObject*, PyObject* name) {
  return PyErr_Format(PyExc_ValueError, "%U is no JSON value", name);
}
PyMethodDef refuse_constant_method = {"refuse_constant", refuse_constant, METH_O, nullptr};

Ref find_function(const wire::Job& job, PyObject* globals, wire::Ended& ended) {
  PyObject* const found = PyDict_GetItemString(globals, job.function->c_str());
  if (found == nullptr) {
    std::vector<std::string> functions;
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(globals, &at, &key, &value) != 0;) {
      if (PyFunction_Check(value)) functions.push_back(text_of(key, 256));
    }
    ended.return_reason = "function_not_found";
    ended.return_message = no_function_message(*job.function, functions);
    return {};
  }
  if (PyCallable_Check(found) == 0) {
    ended.return_reason = "not_callable";
    ended.return_message = *job.function + " is not a function, it is a value of type " + Py_TYPE(found)->tp_name;
    return {};
  }
  return borrow(found);
}

// True where a call failed for its arguments alone: a TypeError before any frame of the function was entered.
bool is_wrong_arity(const Ref& function) {
  if (!PyFunction_Check(function.ptr()) || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return false;
  PyObject *type = nullptr, *error = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  const bool no_frame = traceback == nullptr;
  PyErr_Restore(type, error, traceback);
  return no_frame;
}

void take_return_value(const wire::Job& job, PyObject* value, wire::Ended& ended) {
  JsonValue json = to_json(value, job.return_value_limit);
  ended.return_bytes = json.bytes;
  ended.return_notes = std::move(json.notes);
  if (!json.problem.empty()) {
    ended.return_reason = "return_value_not_json";
    ended.return_message = "the return value of " + *job.function + " can't be written as JSON: " + json.problem;
    ended.return_bytes = 0;
  } else if (!json.text) {
    ended.return_reason = "return_value_too_large";
    ended.return_message = "the return value of " + *job.function + " has " + std::to_string(json.bytes) +
                           " bytes as JSON; limits.return_value is " + format_bytes(job.return_value_limit);
  } else {
    ended.return_value = std::move(json.text);
  }
}

}  // namespace

Ref parse_payload(const wire::Job& job, const std::string& payload, std::string& problem) {
  if (!job.has_payload) return steal(PyDict_New());
  PyObject* const json = PyDict_GetItemString(PyImport_GetModuleDict(), "json");
  const Ref text = steal(PyUnicode_DecodeUTF8(payload.data(), static_cast<Py_ssize_t>(payload.size()), "strict"));
  const Ref loads = json != nullptr ? steal(PyObject_GetAttrString(json, "loads")) : Ref();
  const Ref hook = steal(PyCFunction_New(&refuse_constant_method, nullptr));
  const Ref arguments = text ? steal(PyTuple_Pack(1, text.ptr())) : Ref(),
            options = hook ? steal(Py_BuildValue("{s:O}", "parse_constant", hook.ptr())) : Ref();
  Ref value = loads && arguments && options ? steal(PyObject_Call(loads.ptr(), arguments.ptr(), options.ptr())) : Ref();
  if (value) return value;
  problem = "the payload is not JSON: " + pending_message();
  return {};
}

Ref call_function(const wire::Job& job, const Ref& code, const Ref& argument, const Ref& filename, wire::Ended& ended) {
  const std::string name = module_name(job.script_path);
  const Ref module = make_module(name, filename);
  if (!module) return {};
  PyObject* const globals = PyModule_GetDict(module.ptr());
  // As exec() does; C code (pickle's) finds __import__ by it.
  if (PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) != 0) return {};
  if (PySys_Audit("exec", "O", code.ptr()) != 0) return {};
  if (const Ref ran = steal(PyEval_EvalCode(code.ptr(), globals, globals)); !ran) return {};
  const Ref function = find_function(job, globals, ended);
  if (!function) return {};
  Ref value = steal(PyObject_CallOneArg(function.ptr(), argument.ptr()));
  if (!value) {
    if (is_wrong_arity(function)) {
      ended.return_reason = "wrong_arity";
      ended.return_message = *job.function + " must take one argument, the payload: " + pending_message();
    }
    return {};
  }
  if (PyCoro_CheckExact(value.ptr())) {
    const Ref asyncio = steal(PyImport_ImportModule("asyncio"));
    value = asyncio ? steal(PyObject_CallMethod(asyncio.ptr(), "run", "O", value.ptr())) : Ref();
    if (!value) return {};
  }
  take_return_value(job, value.ptr(), ended);
  if (!ended.return_value) return {};
  return value;
}

}  // namespace podjail::python
