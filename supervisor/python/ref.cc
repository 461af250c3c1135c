#include "python/ref.h"

#include <algorithm>

#include "base/utf8.h"

namespace podjail::python {

std::string text_of(PyObject* text, std::size_t limit) {
  if (text == nullptr || !PyUnicode_Check(text)) return {};
  // A code point is at least one byte, so `limit` of them are enough: a huge text isn't encoded for a short claim.
  const auto length = std::min(PyUnicode_GET_LENGTH(text), static_cast<Py_ssize_t>(limit));
  const Ref part = steal(PyUnicode_Substring(text, 0, length));
  const Ref bytes = part ? steal(PyUnicode_AsEncodedString(part.ptr(), "utf-8", "backslashreplace")) : Ref();
  if (!bytes) {
    PyErr_Clear();
    return {};
  }
  const std::string_view all(PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr())));
  return std::string(utf8_prefix(all, limit));
}

Ref decode_path(const std::string& path) {
  return steal(PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

}  // namespace podjail::python
