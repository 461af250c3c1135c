#include "base/json_write.h"

#include <nlohmann/json.hpp>

namespace podjail {

std::string write_json(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace podjail
