#pragma once
#include <string>

namespace podjail {

/// podjail's own log: always on stderr, never mixed into the script's stdout. A value; not for use after fork.
class Log {
 public:
  enum class Level { debug, info, warn, error, off };

  /// `json`: one object a line. Level off is --quiet.
  Log(bool json, Level level);
  /// `open_line`: the script may have left its own last line without an end.
  void info(const std::string& message, bool open_line = false) const;
  void warn(const std::string& message) const;
  void error(const std::string& message, bool open_line = false) const;

 private:
  void write(Level level, const std::string& message, bool open_line) const;
  bool json_;
};

}  // namespace podjail
