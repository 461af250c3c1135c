#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "result/result.h"
#include "sys/clock.h"

namespace podjail {

/// What the jail refused, counted; bounded however many different things a script tries.
class ViolationLog {
 public:
  static constexpr std::size_t kMaxEntries = 100;  ///< what comes after is counted under "other"

  void start(Monotonic::time_point go) { go_ = go; }
  void add(std::string_view layer, const std::string& what, const std::string& detail, const std::string& action);
  [[nodiscard]] std::vector<Violation> list() const;  ///< in the order of the first time

 private:
  Monotonic::time_point go_ = Monotonic::now();
  std::map<std::pair<std::string, std::string>, std::size_t> index_;
  std::vector<Violation> entries_;
};

}  // namespace podjail
