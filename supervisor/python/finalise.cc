#include "python/finalise.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

#include "python/ref.h"

namespace podjail::python {
namespace {

bool unhandled_interrupt = false;
int code_at_exit = 0;

bool call_if_there(PyObject* module, const char* function) {
  const Ref done = module != nullptr ? steal(PyObject_CallMethod(module, function, nullptr)) : borrow(Py_None);
  return static_cast<bool>(done);
}

// Only CPython's own kind of stream: one of the script's would see a flush more than under python3.
bool flush(const char* name) {
  PyObject* const stream = PySys_GetObject(name);
  if (stream == nullptr || std::string_view(Py_TYPE(stream)->tp_name) != "_io.TextIOWrapper") return false;
  const Ref closed = steal(PyObject_GetAttrString(stream, "closed"));
  if (closed && PyObject_IsTrue(closed.ptr()) == 1) return true;
  return call_if_there(stream, "flush");
}

// Joining threads can be interrupted, which Py_FinalizeEx must see.
bool is_only_thread(PyObject* threading) {
  if (threading == nullptr) return true;
  const Ref count = steal(PyObject_CallMethod(threading, "active_count", nullptr));
  return count && PyLong_Check(count.ptr()) && PyLong_AsLong(count.ptr()) == 1;
}

// The first steps of Py_FinalizeEx, which it then finds done: threads, atexit, flush. False: let it do (and report) what is left itself.
bool finish_and_flush() {
  PyObject* const modules = PyImport_GetModuleDict();
  PyObject* const threading = PyDict_GetItemString(modules, "threading");
  const bool good = is_only_thread(threading) && call_if_there(threading, "_shutdown") && Py_MakePendingCalls() == 0 &&
                    call_if_there(PyDict_GetItemString(modules, "atexit"), "_run_exitfuncs") && flush("stdout") && flush("stderr");
  PyErr_Clear();
  return good;
}

// Py_FinalizeEx raises this event when modules are cleared and streams are flushed, for the second time too. What is left only frees
// memory, a tenth of a short run's time: the kernel does that faster.
int end_when_cleared(const char* event, PyObject*, void*) {
  if (std::string_view(event) != "cpython.PyInterpreterState_Clear") return 0;
  PyThreadState_Clear(PyThreadState_Get());
  std::exit(code_at_exit);
}

}  // namespace

void note_interrupt(bool unhandled) {
  unhandled_interrupt = unhandled;
}

int finalise(int exit_code) {
  if (!unhandled_interrupt && finish_and_flush()) {
    code_at_exit = exit_code;
    if (PySys_AddAuditHook(end_when_cleared, nullptr) != 0) PyErr_Clear();
  }
  if (Py_FinalizeEx() < 0) exit_code = 120;
  if (unhandled_interrupt) {
    if (PyOS_setsig(SIGINT, SIG_DFL) != SIG_ERR) ::kill(::getpid(), SIGINT);
    exit_code = 128 + SIGINT;
  }
  return exit_code;
}

}  // namespace podjail::python
