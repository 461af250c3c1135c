#include "run/violations.h"

#include <algorithm>

namespace podjail {

void ViolationLog::add(std::string_view layer, const std::string& what, const std::string& detail, const std::string& action) {
  auto found = index_.find({what, detail});
  if (found == index_.end()) {
    const bool full = entries_.size() >= kMaxEntries;
    const std::pair<std::string, std::string> key = full ? std::pair<std::string, std::string>{"other", ""} : std::pair{what, detail};
    found = index_.find(key);
    if (found == index_.end()) {
      found = index_.emplace(key, entries_.size()).first;
      const double first_at = std::max(0.0, seconds_since(go_));
      entries_.push_back({std::string(layer), key.first, key.second, full ? "denied" : action, 0, first_at});
    }
  }
  ++entries_[found->second].count;
}

std::vector<Violation> ViolationLog::list() const {
  return entries_;
}

}  // namespace podjail
