#include "python/json_value.h"

#include <array>
#include <cmath>
#include <string_view>
#include <unordered_set>

namespace podjail::python {
namespace {

constexpr std::size_t kMaxDepth = 200;
constexpr std::size_t kMaxNotes = 100;

class Encoder {
 public:
  explicit Encoder(std::uint64_t limit) : limit_(limit) {}

  JsonValue run(PyObject* value) {
    if (begin(value)) {
      while (!open_.empty() && problem_.empty()) step();
    }
    JsonValue result;
    result.bytes = size_;
    result.problem = std::move(problem_);
    result.notes = std::move(notes_);
    if (result.problem.empty() && size_ <= limit_) result.text = std::move(text_);
    return result;
  }

 private:
  // A container that is being written. Items are borrowed: nothing of the script runs meanwhile, so nothing can change them.
  struct Level {
    PyObject* container;
    Py_ssize_t next = 0;  // list and tuple: the index; dict: PyDict_Next's position
    Py_ssize_t written = 0;
    std::string key;  // dict: of the current item, as written
    bool unique_keys = true;
    std::unordered_set<std::string> keys;  // dict, where they are not all plain str
  };

  void put(std::string_view bytes) {
    size_ += bytes.size();
    if (size_ <= limit_) {
      text_ += bytes;
    } else {
      text_ = std::string();
    }
  }

  // "$.items[3].when"; a key that is no identifier is shown as ["…"].
  std::string path() const {
    std::string text = "$";
    for (const Level& level : open_) {
      if (level.written == 0) continue;
      if (!PyDict_Check(level.container)) {
        text += "[" + std::to_string(level.written - 1) + "]";
        continue;
      }
      bool plain = !level.key.empty() && level.key.size() <= 100;
      for (const char c : level.key) plain = plain && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_');
      text += plain ? "." + level.key : "[\"" + level.key.substr(0, 100) + "\"]";
    }
    return text.size() <= 1000 ? text : text.substr(0, 500) + "…" + text.substr(text.size() - 400);
  }

  std::string pointer() const {
    std::string text;
    for (const Level& level : open_) {
      if (level.written == 0) continue;
      text += '/';
      if (!PyDict_Check(level.container)) {
        text += std::to_string(level.written - 1);
        continue;
      }
      for (const char c : level.key.substr(0, 200)) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    return text;
  }

  // About a key: the place is the dict itself.
  bool refuse_key(const std::string& what) {
    open_.back().written = 0;
    return refuse(what);
  }

  bool refuse(const std::string& what) {
    problem_ = path() + ": " + what;
    return false;
  }

  void note(const char* what) {
    const std::string where = pointer();
    if (notes_.size() < kMaxNotes) notes_.push_back(where.empty() ? what : where + " " + what);
  }

  bool out_of_memory() {
    PyErr_Clear();
    return refuse("out of memory");
  }

  // UTF-8; false: out of memory. `replaced`: a lone surrogate became U+FFFD.
  bool utf8(PyObject* text, std::string& bytes, bool& replaced) {
    Py_ssize_t size = 0;
    if (PyUnicode_CheckExact(text)) {
      if (const char* const data = PyUnicode_AsUTF8AndSize(text, &size)) {
        bytes.assign(data, static_cast<std::size_t>(size));
        return true;
      }
      PyErr_Clear();
    }
    // surrogatepass writes a lone surrogate as ED A0..BF xx, which nothing else has.
    const Ref encoded = steal(PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass"));
    if (!encoded) {
      PyErr_Clear();
      return false;
    }
    bytes.assign(PyBytes_AS_STRING(encoded.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(encoded.ptr())));
    for (std::size_t i = bytes.find('\xED'); i != bytes.npos && i + 2 < bytes.size(); i = bytes.find('\xED', i + 1)) {
      if (static_cast<unsigned char>(bytes[i + 1]) < 0xA0) continue;
      bytes.replace(i, 3, "\xEF\xBF\xBD");
      replaced = true;
    }
    return true;
  }

  void put_quoted(std::string_view bytes) {
    put("\"");
    std::size_t from = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto c = static_cast<unsigned char>(bytes[i]);
      if (c >= 0x20 && c != '"' && c != '\\') continue;
      put(bytes.substr(from, i - from));
      from = i + 1;
      switch (c) {
        case '"':
          put("\\\"");
          break;
        case '\\':
          put("\\\\");
          break;
        case '\n':
          put("\\n");
          break;
        case '\r':
          put("\\r");
          break;
        case '\t':
          put("\\t");
          break;
        case '\b':
          put("\\b");
          break;
        case '\f':
          put("\\f");
          break;
        default: {
          constexpr std::string_view kHex = "0123456789abcdef";
          const std::array<char, 6> escape{'\\', 'u', '0', '0', kHex[c >> 4U], kHex[c & 15U]};
          put({escape.data(), escape.size()});
        }
      }
    }
    put(bytes.substr(from));
    put("\"");
  }

  bool integer(PyObject* value, std::string& digits) {
    int overflow = 0;
    const long small = PyLong_AsLongAndOverflow(value, &overflow);
    if (overflow == 0) {
      digits = std::to_string(small);
      return true;
    }
    // Most readers of JSON, the writer of result.json among them, take a number for a double where it is none of their integers (RFC 8259
    // §6).
    constexpr std::size_t kDoubleBits = 1023;
    if (_PyLong_NumBits(value) > kDoubleBits) {
      refuse("an integer of more than 308 digits");
      return true;
    }
    const Ref text = steal(PyLong_Type.tp_repr(value));  // int's own, not a subclass's
    PyErr_Clear();
    if (!text) return false;
    bool replaced = false;
    return utf8(text.ptr(), digits, replaced);
  }

  // float's own repr; false: not finite.
  static bool real(PyObject* value, std::string& digits) {
    const double number = PyFloat_AS_DOUBLE(value);
    if (!std::isfinite(number)) return false;
    char* const text = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, nullptr);
    if (text == nullptr) {
      PyErr_Clear();
      return false;
    }
    digits = text;
    PyMem_Free(text);
    return true;
  }

  // "datetime" for datetime.datetime: the C name, which no metaclass can make lie or raise.
  static std::string type_name(PyObject* value) {
    const std::string_view name = Py_TYPE(value)->tp_name;
    return std::string(name.substr(name.rfind('.') + 1).substr(0, 200));
  }

  // Writes a scalar, or opens a container.
  bool begin(PyObject* value) {
    if (value == Py_None) return put("null"), true;
    if (value == Py_True) return put("true"), true;
    if (value == Py_False) return put("false"), true;
    std::string bytes;
    if (PyUnicode_Check(value)) {
      bool replaced = false;
      if (!utf8(value, bytes, replaced)) return out_of_memory();
      if (replaced) note("lone surrogate");
      put_quoted(bytes);
      return true;
    }
    if (PyLong_Check(value)) {
      if (!integer(value, bytes)) return out_of_memory();
      put(bytes);
      return true;
    }
    if (PyFloat_Check(value)) {
      if (!real(value, bytes)) return refuse("a float that is not finite is not JSON");
      put(bytes);
      return true;
    }
    if (!PyList_Check(value) && !PyTuple_Check(value) && !PyDict_Check(value)) return refuse(type_name(value) + " is not JSON");
    for (const Level& level : open_) {
      if (level.container == value) return refuse("a circular reference");
    }
    if (open_.size() >= kMaxDepth) return refuse("more than " + std::to_string(kMaxDepth) + " levels deep");
    put(PyDict_Check(value) ? "{" : "[");
    open_.push_back({value});
    if (PyDict_Check(value)) {
      Py_ssize_t at = 0;
      PyObject* key = nullptr;
      while (PyDict_Next(value, &at, &key, nullptr) != 0) open_.back().unique_keys = open_.back().unique_keys && plain_key(key);
    }
    return true;
  }

  // Keys of exactly str without surrogates are as distinct in JSON as they are in the dict. Strings with bytes above 2 each may hold one.
  static bool plain_key(PyObject* key) {
    return PyUnicode_CheckExact(key) && PyUnicode_READY(key) == 0 && PyUnicode_KIND(key) == PyUnicode_1BYTE_KIND;
  }

  bool key_text(PyObject* key, std::string& bytes, bool& replaced) {
    if (key == Py_None) return bytes = "null", true;
    if (key == Py_True) return bytes = "true", true;
    if (key == Py_False) return bytes = "false", true;
    if (PyUnicode_Check(key)) return utf8(key, bytes, replaced) || out_of_memory();
    if (PyLong_Check(key)) return integer(key, bytes) || out_of_memory();
    if (PyFloat_Check(key)) return real(key, bytes) || refuse_key("a key that is a float and not finite is not JSON");
    return refuse_key("a key of type " + type_name(key) + " is not JSON");
  }

  void step() {
    Level& level = open_.back();
    if (PyDict_Check(level.container)) {
      PyObject *key = nullptr, *value = nullptr;
      if (PyDict_Next(level.container, &level.next, &key, &value) == 0) return close("}");
      std::string bytes;
      bool replaced = false;
      if (!key_text(key, bytes, replaced)) return;
      if (replaced) note("lone surrogate in a key");
      if (!level.unique_keys && !level.keys.insert(bytes).second) {
        refuse_key("duplicate key \"" + bytes.substr(0, 100) + "\"");
        return;
      }
      if (level.written > 0) put(",");
      put_quoted(bytes);
      put(":");
      level.key = std::move(bytes);
      ++level.written;
      begin(value);  // may move `level`
      return;
    }
    const bool is_list = PyList_Check(level.container);
    const Py_ssize_t size = is_list ? PyList_GET_SIZE(level.container) : PyTuple_GET_SIZE(level.container);
    if (level.next >= size) return close("]");
    if (level.written > 0) put(",");
    PyObject* const item = is_list ? PyList_GET_ITEM(level.container, level.next) : PyTuple_GET_ITEM(level.container, level.next);
    ++level.next;
    ++level.written;
    begin(item);
  }

  void close(std::string_view bracket) {
    put(bracket);
    open_.pop_back();
  }

  std::uint64_t limit_, size_ = 0;
  std::string text_, problem_;
  std::vector<std::string> notes_;
  std::vector<Level> open_;
};

}  // namespace

JsonValue to_json(PyObject* value, std::uint64_t limit) {
  return Encoder(limit).run(value);
}

}  // namespace podjail::python
