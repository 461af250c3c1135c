#pragma once
#include <cstring>
#include <expected>
#include <string>
#include <utility>

namespace podjail {

/// What went wrong, for a person who can act on it. A value; carries no resources.
struct Error {
  std::string step;     ///< what was tried: "open directory", or a whole sentence when `err` is 0
  int err = 0;          ///< errno, or 0 where no system call failed
  std::string subject;  ///< the path, policy field, layer or syscall it is about; may be empty

  /// "open directory /out: Permission denied"
  [[nodiscard]] std::string message() const {
    std::string text = step;
    if (!subject.empty()) text += (text.empty() ? "" : " ") + subject;
    if (err != 0) text += std::string(": ") + std::strerror(err);
    return text;
  }
};

/// Either the value or an Error. ("result" means result.json in this code base.)
template <class T>
using Expected = std::expected<T, Error>;

inline std::unexpected<Error> fail(std::string step, int err = 0, std::string subject = {}) {
  return std::unexpected(Error{std::move(step), err, std::move(subject)});
}

}  // namespace podjail

// Unwraps an Expected or returns its error from the enclosing function (a GNU statement expression).
#define TRY(expression)                                                       \
  __extension__({                                                             \
    auto try_result_ = (expression);                                          \
    if (!try_result_) return std::unexpected(std::move(try_result_).error()); \
    *std::move(try_result_);                                                  \
  })

// The same for Expected<void>.
#define TRY_VOID(expression)                                                                                   \
  do {                                                                                                         \
    if (auto try_result_ = (expression); !try_result_) return std::unexpected(std::move(try_result_).error()); \
  } while (false)
