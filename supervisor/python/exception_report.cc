#include "python/exception_report.h"

#include <frameobject.h>

#include "base/utf8.h"
#include "python/json_value.h"
#include "python/stderr_copy.h"

namespace podjail::python {
namespace {

constexpr std::size_t kMaxMessage = 8U << 10;

bool is_a(PyObject* value, PyObject* type) {
  return PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(type)) != 0;
}

// The C name: a metaclass with a hostile __name__ isn't asked.
std::string type_name(PyObject* value) {
  const std::string_view name = Py_TYPE(value)->tp_name;
  return to_valid_utf8(utf8_prefix(name.substr(name.rfind('.') + 1), 1000));
}

int line_in(PyObject* traceback, PyObject* filename) {
  int line = 0;
  for (auto* entry = reinterpret_cast<PyTracebackObject*>(traceback); entry != nullptr; entry = entry->tb_next) {
    const Ref code = steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(entry->tb_frame)));
    if (PyUnicode_Compare(reinterpret_cast<PyCodeObject*>(code.ptr())->co_filename, filename) != 0) continue;
    const Ref number = steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(entry), "tb_lineno"));
    if (number && PyLong_Check(number.ptr())) line = static_cast<int>(PyLong_AsLong(number.ptr()));
  }
  PyErr_Clear();
  return line;
}

bool plain(PyObject* value) {
  return value == Py_None || PyUnicode_CheckExact(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value) ||
         PyBytes_CheckExact(value);
}

// str() of an exception whose __str__ is built in and whose arguments are plain runs nothing of the script.
bool str_is_builtin(PyObject* value) {
  PyTypeObject* builtin = Py_TYPE(value);
  while (builtin->tp_base != nullptr && (builtin->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0) builtin = builtin->tp_base;
  if (Py_TYPE(value)->tp_str != builtin->tp_str) return false;
  PyObject* const arguments = reinterpret_cast<PyBaseExceptionObject*>(value)->args;
  if (arguments == nullptr || !PyTuple_CheckExact(arguments)) return false;
  Py_ssize_t shown = PyTuple_GET_SIZE(arguments);
  // A group shows its message and the number of its exceptions. Its type is no part of the C API.
  if (std::string_view(builtin->tp_name).ends_with("ExceptionGroup")) shown = std::min<Py_ssize_t>(shown, 1);
  for (Py_ssize_t i = 0; i < shown; ++i) {
    if (!plain(PyTuple_GET_ITEM(arguments, i))) return false;
  }
  return true;
}

// From the printed text: what stands after the last "Type: " that begins a line (with the module before it, or a group's margin).
std::string message_from(std::string_view printed, const std::string& type) {
  const std::string head = type + ": ";
  for (std::size_t at = printed.rfind(head); at != printed.npos; at = at == 0 ? printed.npos : printed.rfind(head, at - 1)) {
    const std::size_t line = at == 0 ? 0 : printed.rfind('\n', at - 1) + 1;
    if (printed.substr(line, at - line).find_first_of("\"'(= ") != printed.npos && !printed.substr(line).starts_with("  | ")) continue;
    std::string_view message = printed.substr(at + head.size());
    while (message.ends_with('\n')) message.remove_suffix(1);
    return std::string(utf8_prefix(message, kMaxMessage));
  }
  return {};
}

// Without the script's own code: frames and source lines only. For where a hook of the script does the printing, or nothing does.
std::string frames_text(PyObject* traceback) {
  if (traceback == nullptr) return {};
  const Ref io = steal(PyImport_ImportModule("_io"));
  const Ref sink = io ? steal(PyObject_CallMethod(io.ptr(), "StringIO", nullptr)) : Ref();
  Ref text;
  if (sink && PyTraceBack_Print(traceback, sink.ptr()) == 0) text = steal(PyObject_CallMethod(sink.ptr(), "getvalue", nullptr));
  PyErr_Clear();
  return text_of(text.ptr(), StderrCopy::kKept);
}

bool default_hook() {
  PyObject* const hook = PySys_GetObject("excepthook");
  return hook != nullptr && PyCFunction_CheckExact(hook) &&
         std::string_view(reinterpret_cast<PyCFunctionObject*>(hook)->m_ml->ml_name) == "excepthook";
}

}  // namespace

void print_exception(PyObject* filename, wire::Ended& ended) {
  PyObject *raw_type = nullptr, *raw_value = nullptr, *raw_traceback = nullptr;
  PyErr_Fetch(&raw_type, &raw_value, &raw_traceback);
  PyErr_NormalizeException(&raw_type, &raw_value, &raw_traceback);
  const Ref value = borrow(raw_value), traceback = borrow(raw_traceback);
  if (!value) return PyErr_Clear();
  wire::ExceptionClaim claim;
  ended.memory_error = is_a(value.ptr(), PyExc_MemoryError);
  {
    std::optional<StderrCopy> copy;
    if (default_hook()) copy.emplace();
    PyErr_Restore(raw_type, raw_value, raw_traceback);
    PyErr_Print();
    if (copy) claim.traceback = copy->text();
  }
  claim.type = type_name(value.ptr());
  if (traceback) claim.line = line_in(traceback.ptr(), filename);
  if (str_is_builtin(value.ptr())) {
    const Ref text = steal(PyObject_Str(value.ptr()));
    PyErr_Clear();
    claim.message = text_of(text.ptr(), kMaxMessage);
  } else {
    claim.message = message_from(claim.traceback, claim.type);
  }
  if (claim.traceback.empty())
    claim.traceback = frames_text(traceback.ptr()) + claim.type + (claim.message.empty() ? "" : ": " + claim.message) + "\n";
  ended.exception = std::move(claim);
}

std::optional<std::string> exit_argument() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  constexpr std::uint64_t kMaxArgument = 8U << 10;
  std::optional<std::string> text;
  if (value != nullptr && is_a(value, PyExc_SystemExit)) {
    // The member, not the attribute: a property of the script's isn't run for this.
    PyObject* const code = reinterpret_cast<PySystemExitObject*>(value)->code;
    text = code == nullptr ? "null" : to_json(code, kMaxArgument).text;
  }
  PyErr_Restore(type, value, traceback);
  return text;
}

}  // namespace podjail::python
