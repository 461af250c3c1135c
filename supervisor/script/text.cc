#include "script/text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/units.h"
#include "base/utf8.h"
#include "script/codecs.h"

namespace podjail {
namespace {

constexpr std::string_view kUtf8Bom = "\xEF\xBB\xBF";

// Lines as CPython's tokenizer counts them (universal newlines): "\n", "\r\n" and "\r" end one.
struct Where {
  int line = 1;
  int byte = 1;    // 1-based within the line
  int column = 1;  // in characters
};

Where where(std::string_view bytes, std::size_t offset) {
  Where at;
  std::size_t start = 0;
  for (std::size_t i = 0; i < offset; ++i) {
    const bool ends_line = bytes[i] == '\n' || (bytes[i] == '\r' && !(i + 1 < bytes.size() && bytes[i + 1] == '\n'));
    if (!ends_line) continue;
    ++at.line;
    start = i + 1;
  }
  at.byte = static_cast<int>(offset - start) + 1;
  for (std::string_view rest = bytes.substr(start, offset - start); !rest.empty(); ++at.column)
    rest.remove_prefix(std::max<std::size_t>(utf8_sequence_length(rest), 1));
  if (start == 0 && offset > 0 && bytes.starts_with(kUtf8Bom)) --at.column;  // it is no character of the text
  return at;
}

std::string hex(char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  return {'0', 'x', kDigits[value >> 4], kDigits[value & 15]};
}

TextProblem problem_at(std::string_view bytes, std::size_t offset, std::string reason, const std::string& before,
                       const std::string& after) {
  const Where at = where(bytes, offset);
  return {std::move(reason), before + " (line " + std::to_string(at.line) + ", byte " + std::to_string(at.byte) + ")" + after, at.line,
          at.byte, at.column};
}

// ---- What is no source text at all, by its first bytes.

struct Magic {
  std::string_view bytes, reason, what;
};
constexpr std::array<Magic, 8> kMagics = {{{"PK\x03\x04", "archive", "a zip archive"},
                                           {"PK\x05\x06", "archive", "a zip archive"},  // an empty one
                                           {"\x1F\x8B", "archive", "a gzip file"},
                                           {std::string_view("\xFD"
                                                             "7zXZ\0",
                                                             6),
                                            "archive", "an xz file"},
                                           {"\x28\xB5\x2F\xFD", "archive", "a Zstandard file"},
                                           {"7z\xBC\xAF\x27\x1C", "archive", "a 7-Zip archive"},
                                           {"\x7F"
                                            "ELF",
                                            "bytecode", "a compiled program or library (ELF)"},
                                           {std::string_view("\0asm", 4), "bytecode", "a WebAssembly module"}}};

// CPython since 3.7 (PEP 552): a 16-bit magic number, "\r\n", then 32 bits of flags of which only the two lowest are used.
bool is_pyc(std::string_view bytes) {
  return bytes.size() >= 16 && bytes.substr(2, 2) == "\r\n" && static_cast<unsigned char>(bytes[4]) <= 3 &&
         bytes.substr(5, 3) == std::string_view("\0\0\0", 3);
}

bool is_tar(std::string_view bytes) {
  return bytes.size() >= 512 && bytes.substr(257, 5) == "ustar";
}  // pax and GNU both, tar(5)

std::optional<TextProblem> find_magic(std::string_view bytes) {
  const auto problem = [](std::string_view reason, std::string_view what) {
    return TextProblem{std::string(reason), "this is " + std::string(what) + ", not Python source text", 0, 0};
  };
  for (const Magic& magic : kMagics)
    if (bytes.starts_with(magic.bytes)) return problem(magic.reason, magic.what);
  // "BZh" alone could start a Python name.
  if (bytes.starts_with("BZh") && bytes.size() >= 10 && bytes.substr(4, 6) == "1AY&SY") return problem("archive", "a bzip2 file");
  if (is_tar(bytes)) return problem("archive", "a tar archive");
  if (is_pyc(bytes)) return problem("bytecode", "compiled Python (.pyc)");
  // `python -m zipapp -p` puts a "#!" line before the archive.
  if (bytes.starts_with("#!")) {
    const auto end = bytes.find('\n');
    if (end != std::string_view::npos && bytes.substr(end + 1).starts_with("PK\x03\x04"))
      return problem("archive", "a zip archive (a zipapp)");
  }
  return std::nullopt;
}

std::optional<TextProblem> find_wide_bom(std::string_view bytes) {
  const auto problem = [](std::string_view encoding) {
    return TextProblem{
        "utf16", "the file is " + std::string(encoding) + " (its byte order mark says so), which Python doesn't read: save it as UTF-8", 1,
        1, 1};
  };
  if (bytes.starts_with(std::string_view("\xFF\xFE\0\0", 4)) || bytes.starts_with(std::string_view("\0\0\xFE\xFF", 4)))
    return problem("UTF-32");
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) return problem("UTF-16");
  return std::nullopt;
}

// ---- PEP 263, as CPython's tokenizer does it (get_coding_spec(), check_coding_spec()).

struct Cookie {
  std::string_view name;
  int line = 0;
  int byte = 0;  // 1-based
};

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\f';
}
bool is_cookie_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

// "coding[:=]\s*NAME" in a comment that is all of the line.
std::optional<Cookie> cookie_of(std::string_view line) {
  const auto hash = std::find_if_not(line.begin(), line.end(), is_blank);
  if (hash == line.end() || *hash != '#') return std::nullopt;
  constexpr std::string_view kWord = "coding";
  for (auto at = line.find(kWord, static_cast<std::size_t>(hash - line.begin())); at != std::string_view::npos;
       at = line.find(kWord, at + 1)) {
    std::size_t begin = at + kWord.size();
    if (begin >= line.size() || (line[begin] != ':' && line[begin] != '=')) continue;
    do ++begin;
    while (begin < line.size() && (line[begin] == ' ' || line[begin] == '\t'));
    std::size_t end = begin;
    while (end < line.size() && is_cookie_char(line[end])) ++end;
    if (end > begin) return Cookie{line.substr(begin, end - begin), 0, static_cast<int>(begin) + 1};
  }
  return std::nullopt;
}

// In the first two lines, in the second only where the first is blank or a comment.
std::optional<Cookie> find_cookie(std::string_view text) {
  for (int number = 1; number <= 2; ++number) {
    const auto end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    if (auto cookie = cookie_of(line)) {
      cookie->line = number;
      return cookie;
    }
    const auto first = std::find_if_not(line.begin(), line.end(), is_blank);
    if (first != line.end() && *first != '#') return std::nullopt;
    if (end == text.size()) return std::nullopt;
    text.remove_prefix(text.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
  return std::nullopt;
}

std::optional<TextProblem> check_cookie(std::string_view bytes, std::string_view text, bool has_bom) {
  const auto cookie = find_cookie(text);
  if (!cookie) return std::nullopt;
  const CodecKind kind = codec_kind(cookie->name);
  if (kind == CodecKind::utf8) return std::nullopt;
  const std::string declares = "line " + std::to_string(cookie->line) + " declares " + std::string(cookie->name.substr(0, 64));
  const int byte = cookie->byte + (has_bom && cookie->line == 1 ? static_cast<int>(kUtf8Bom.size()) : 0);
  const auto at_cookie = [&](const std::string& message) {
    return TextProblem{"source_encoding", message, cookie->line, byte, cookie->byte};
  };
  if (kind == CodecKind::other)
    return at_cookie(declares +
                     ", which is not an encoding that leaves ASCII as it is, so that Python would run other text than is read here: save "
                     "it as UTF-8 and remove the declaration");
  if (has_bom)
    return at_cookie(declares + " but the file starts with UTF-8's byte order mark: save it as UTF-8 and remove the declaration");
  const auto high = std::find_if(bytes.begin(), bytes.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  if (high == bytes.end()) return std::nullopt;
  return problem_at(bytes, static_cast<std::size_t>(high - bytes.begin()), "source_encoding", declares + " and byte " + hex(*high),
                    " isn't ASCII: save it as UTF-8 and remove the declaration");
}

}  // namespace

std::optional<TextProblem> check_text(std::string_view bytes, std::size_t max_bytes) {
  if (bytes.size() > max_bytes)
    return TextProblem{"too_large",
                       "the script has " + std::to_string(bytes.size()) + " bytes, more than the " + format_bytes(max_bytes) +
                           " that validation.max_script permits",
                       0, 0};
  if (auto problem = find_magic(bytes)) return problem;
  if (auto problem = find_wide_bom(bytes)) return problem;
  if (const auto nul = bytes.find('\0'); nul != std::string_view::npos)
    return problem_at(bytes, nul, "nul_byte", "a NUL byte", ": this is no Python source text, or a damaged one");
  const bool has_bom = bytes.starts_with(kUtf8Bom);
  if (auto problem = check_cookie(bytes, has_bom ? bytes.substr(kUtf8Bom.size()) : bytes, has_bom)) return problem;
  if (const auto bad = find_invalid_utf8(bytes))
    return problem_at(bytes, *bad, "invalid_utf8", "byte " + hex(bytes[*bad]), " isn't UTF-8: save the file as UTF-8");
  return std::nullopt;
}

}  // namespace podjail
