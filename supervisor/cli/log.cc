#include "cli/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/terminal.h"
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

void Log::write(Level level, const std::string& message, bool open_line) const {
  if (open_line && spdlog::should_log(level_of(level))) std::fputc('\n', stderr);
  if (!json_) return spdlog::log(level_of(level), "{}", neutral_line(message));
  const nlohmann::ordered_json line = {{"time", utc_now()}, {"level", name_of(level)}, {"logger", "podjail"}, {"message", message}};
  constexpr bool kAscii = true;  // C1 controls and line separators are escaped, too
  spdlog::log(level_of(level), "{}", line.dump(-1, ' ', kAscii, nlohmann::json::error_handler_t::replace));
}

void Log::info(const std::string& message, bool open_line) const {
  write(Level::info, message, open_line);
}
void Log::warn(const std::string& message) const {
  write(Level::warn, message, false);
}
void Log::error(const std::string& message, bool open_line) const {
  write(Level::error, message, open_line);
}

}  // namespace podjail
