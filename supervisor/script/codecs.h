#pragma once
#include <string>
#include <string_view>

namespace podjail {

/// What an encoding name in a source file means for text that is ASCII only or UTF-8.
enum class CodecKind {
  utf8,            ///< one of UTF-8's names
  ascii_superset,  ///< a codec of CPython's standard library that decodes every ASCII byte string as ASCII
  other,           ///< decodes ASCII bytes to something else (utf-7, utf-16, unicode_escape, rot13, EBCDIC, ISO-2022), or unknown
};

/// As CPython finds a source encoding: its tokenizer's own short forms ("utf-8-unix", "latin-1"), then encodings.normalize_encoding and
/// encodings.aliases.
CodecKind codec_kind(std::string_view name);

}  // namespace podjail
