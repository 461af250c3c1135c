#include "python/source_lines.h"

#include <algorithm>

#include "base/utf8.h"

namespace podjail::python {

void SourceLines::index() {
  if (!starts_.empty()) return;
  starts_.push_back(0);
  for (std::size_t i = text_.find_first_of("\r\n"); i < text_.size(); i = text_.find_first_of("\r\n", i)) {
    i += text_.substr(i, 2) == "\r\n" ? 2 : 1;
    starts_.push_back(static_cast<std::uint32_t>(i));
  }
}

std::string_view SourceLines::line(int number) {
  index();
  if (number < 1 || static_cast<std::size_t>(number) > starts_.size()) return {};
  const std::string_view rest = text_.substr(starts_[static_cast<std::size_t>(number) - 1]);
  return rest.substr(0, rest.find_first_of("\r\n"));
}

int SourceLines::column(int number, int byte_offset) {
  const std::string_view before = line(number).substr(0, static_cast<std::size_t>(std::max(byte_offset, 0)));
  return static_cast<int>(utf8_length(before)) + 1;
}

SourceLines::Place SourceLines::place(std::size_t offset) {
  index();
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
  return {static_cast<int>(next - starts_.begin()), static_cast<int>(offset - *(next - 1))};
}

}  // namespace podjail::python
