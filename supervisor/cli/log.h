#pragma once
#include <string>

namespace podjail {

/// podjail's own log: always on stderr, never mixed into the script's stdout. A value; not for use after fork.
class Log {
 public:
  enum class Level { debug, info, warn, error, off };

  /// `json`: one object a line. Level off is --quiet.
  Log(bool json, Level level);
  void info(const std::string& message) const;
  void warn(const std::string& message) const;
  void error(const std::string& message) const;

 private:
  void write(Level level, const std::string& message) const;
  bool json_;
};

}  // namespace podjail
