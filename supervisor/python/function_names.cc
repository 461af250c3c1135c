#include "python/function_names.h"

#include <algorithm>

#include "base/suggest.h"

namespace podjail::python {
namespace {

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

std::string no_function_message(const std::string& wanted, const std::vector<std::string>& defined) {
  std::string message = "no function " + wanted;
  const std::vector<std::string_view> names(defined.begin(), defined.end());
  std::string_view close = nearest(wanted, names).value_or("");
  // handle_it for handler: a different ending of the same word.
  constexpr std::size_t kSameWord = 4;
  if (close.empty()) {
    for (std::string_view name : names) {
      if (common_prefix(name, wanted) >= std::max(kSameWord, common_prefix(close, wanted) + 1)) close = name;
    }
  }
  if (!close.empty()) return message + "; did you mean " + std::string(close) + "?";
  if (names.empty()) return message + "; the script defines none at its top level";
  message += "; the script defines ";
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) message += (i == 0 ? "" : ", ") + std::string(names[i]);
  return message + (names.size() > kShown ? ", …" : "");
}

}  // namespace podjail::python
