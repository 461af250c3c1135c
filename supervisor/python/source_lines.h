#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace podjail::python {

/// Lines of a source as CPython counts them: \n, \r\n and a lone \r end one; a form feed doesn't. The index is made on first use.
class SourceLines {
 public:
  explicit SourceLines(std::string_view text) : text_(text) {}

  /// The 1-based line without its end; empty where there is none.
  std::string_view line(int number);

  /// The 1-based column in characters of a 0-based byte offset in a line (as the syntax tree has it).
  int column(int number, int byte_offset);

  /// The 1-based line that holds a byte of the text, and the byte's offset in it.
  struct Place {
    int line;
    int byte_offset;
  };
  Place place(std::size_t offset);

 private:
  void index();

  std::string_view text_;
  std::vector<std::uint32_t> starts_;  // policy.validation.max_script is far below 4 GiB
};

}  // namespace podjail::python
