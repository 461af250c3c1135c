#include "cli/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "sys/clock.h"

namespace podjail {
namespace {

spdlog::level::level_enum level_of(Log::Level level) {
  switch (level) {
    case Log::Level::debug:
      return spdlog::level::debug;
    case Log::Level::info:
      return spdlog::level::info;
    case Log::Level::warn:
      return spdlog::level::warn;
    case Log::Level::error:
      return spdlog::level::err;
    case Log::Level::off:
      break;
  }
  return spdlog::level::off;
}

const char* name_of(Log::Level level) {
  return level == Log::Level::info ? "info" : level == Log::Level::warn ? "warning" : level == Log::Level::error ? "error" : "debug";
}

}  // namespace

Log::Log(bool json, Level level) : json_(json) {
  auto logger = std::make_shared<spdlog::logger>("podjail", std::make_shared<spdlog::sinks::stderr_sink_st>());
  logger->set_pattern(json ? "%v" : "podjail: %v");
  logger->set_level(level_of(level));
  spdlog::set_default_logger(std::move(logger));
}

void Log::write(Level level, const std::string& message) const {
  if (!json_) return spdlog::log(level_of(level), "{}", message);
  const nlohmann::ordered_json line = {{"time", utc_now()}, {"level", name_of(level)}, {"logger", "podjail"}, {"message", message}};
  spdlog::log(level_of(level), "{}", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void Log::info(const std::string& message) const {
  write(Level::info, message);
}
void Log::warn(const std::string& message) const {
  write(Level::warn, message);
}
void Log::error(const std::string& message) const {
  write(Level::error, message);
}

}  // namespace podjail
