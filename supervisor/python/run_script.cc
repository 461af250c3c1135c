#include "python/run_script.h"

#include <cstdlib>

#include "python/call_function.h"
#include "python/exception_report.h"
#include "python/finalise.h"

// The order of what follows is pymain_run_python, _PyRun_SimpleFileObject and Py_RunMain of CPython 3.11 (Modules/main.c,
// Python/pythonrun.c).
namespace podjail::python {
namespace {

void flush_standard_streams() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  for (const char* name : {"stderr", "stdout"}) {
    PyObject* const stream = PySys_GetObject(name);
    if (stream != nullptr) Py_XDECREF(PyObject_CallMethod(stream, "flush", nullptr));
    PyErr_Clear();
  }
  PyErr_Restore(type, value, traceback);
}

// sys.path[0] is the folder of the file that the path leads to (links followed), unless PYTHONSAFEPATH is set.
bool set_paths(const wire::Job& job) {
  PyObject* const path = PySys_GetObject("path");
  if (path == nullptr || !PyList_Check(path)) return true;
  PyObject* const flags = PySys_GetObject("flags");
  const Ref safe = flags != nullptr ? steal(PyObject_GetAttrString(flags, "safe_path")) : Ref();
  PyErr_Clear();
  if (!safe || PyObject_IsTrue(safe.ptr()) != 1) {
    char* const real = ::realpath(job.script_path.c_str(), nullptr);
    std::string folder = real != nullptr ? real : job.script_path;
    std::free(real);
    const std::size_t slash = folder.rfind('/');
    folder.resize(slash == std::string::npos ? 0 : std::max<std::size_t>(slash, 1));
    const Ref entry = decode_path(folder);
    if (!entry || PyList_Insert(path, 0, entry.ptr()) != 0) return false;
  }
  // python3 has asked by now whether the file is an archive to be run.
  PyObject* const importers = PySys_GetObject("path_importer_cache");
  const Ref script = decode_path(job.script_path);
  if (importers != nullptr && script && PyDict_SetItem(importers, script.ptr(), Py_None) != 0) return false;
  for (const std::string& extra : job.python_paths) {
    const Ref entry = decode_path(extra);
    if (!entry || PyList_Append(path, entry.ptr()) != 0) return false;
  }
  return true;
}

// run_eval_code_obj
Ref evaluate(const Ref& code, PyObject* globals) {
  if (PySys_Audit("exec", "O", code.ptr()) != 0) return {};
  note_interrupt(false);
  Ref result = steal(PyEval_EvalCode(code.ptr(), globals, globals));
  if (!result && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) note_interrupt(true);
  return result;
}

Ref make_loader(const char* module, const Ref& filename) {
  PyObject* const bootstrap = PyDict_GetItemString(PyImport_GetModuleDict(), "_frozen_importlib_external");
  if (bootstrap == nullptr) return {};
  return steal(PyObject_CallMethod(bootstrap, "SourceFileLoader", "sO", module, filename.ptr()));
}

Ref run_as_main(const Ref& code, const Ref& filename, PyObject* globals) {
  if (PyDict_SetItemString(globals, "__file__", filename.ptr()) != 0 || PyDict_SetItemString(globals, "__cached__", Py_None) != 0)
    return {};
  const Ref loader = make_loader("__main__", filename);
  if (!loader || PyDict_SetItemString(globals, "__loader__", loader.ptr()) != 0) return {};
  return evaluate(code, globals);
}

void forget_file_name(PyObject* globals) {
  for (const char* name : {"__file__", "__cached__"}) {
    if (PyDict_DelItemString(globals, name) != 0) PyErr_Clear();
  }
}

// As python3 has it where stdout is a terminal: the script writes to a pipe, but podjail passes it on to one.
void buffer_stdout_by_line() {
  PyObject* const out = PySys_GetObject("stdout");  // borrowed
  const Ref method = out != nullptr && out != Py_None ? steal(PyObject_GetAttrString(out, "reconfigure")) : Ref();
  const Ref none = steal(PyTuple_New(0)), options = steal(Py_BuildValue("{s:O}", "line_buffering", Py_True));
  if (method && none && options) Py_XDECREF(PyObject_Call(method.ptr(), none.ptr(), options.ptr()));
  PyErr_Clear();
}

}  // namespace

void import_for(const wire::Job& job) {
  if (!job.function) return;
  Py_XDECREF(PyImport_ImportModule("json"));
  PyErr_Clear();
}

int run_script(const wire::Job& job, std::string source, Checked checked, const Ref& argument, Report& report) {
  wire::Ended ended;
  const Ref filename = decode_path(job.script_path);
  PyObject* const main_module = PyImport_AddModule("__main__");  // borrowed
  PyObject* const globals = main_module != nullptr ? PyModule_GetDict(main_module) : nullptr;
  Ref result;
  const bool ready = globals != nullptr && filename && set_paths(job) && PySys_Audit("cpython.run_file", "O", filename.ptr()) == 0 &&
                     Py_MakePendingCalls() == 0 && (!checked.warned || show_compile_warnings(source, filename.ptr()));
  if (job.line_buffered) buffer_stdout_by_line();
  source = std::string();  // it counts against the script's memory
  if (ready)
    result = job.function ? call_function(job, checked.code, argument, filename, ended) : run_as_main(checked.code, filename, globals);
  // python3 keeps no reference to the code object beyond the run either.
  checked.code = Ref();
  flush_standard_streams();
  int exit_code = 0;
  if (!result) {
    exit_code = 1;
    if (PyErr_Occurred() != nullptr) {
      report.release_reserve();
      if (PyErr_ExceptionMatches(PyExc_SystemExit)) {
        ended.exit_argument = exit_argument();
        report.send(ended);
        PyErr_Print();  // ends the process by Py_Exit
      } else {
        if (job.function && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) note_interrupt(true);
        print_exception(filename.ptr(), ended);
      }
    }
  }
  result = Ref();
  if (!job.function) forget_file_name(globals);
  report.send(ended);
  return exit_code;
}

}  // namespace podjail::python
