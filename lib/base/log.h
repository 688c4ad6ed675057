// The log behind -v: which files are opened, how they are recognised and why, which rules run, how long steps take. The
// library writes lines; the program (tools/cli) decides on the level and the destination.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

enum class LogLevel : u8 { nothing, info, debug };

/// Receives one line of unescaped text. Several threads may call it at once.
using LogSink = std::function<void(LogLevel level, std::string_view text)>;

/// Sends all lines up to `level` to `sink`. Call it before starting threads. Until then no lines are logged.
void set_log(LogLevel level, LogSink sink);

bool is_logged(LogLevel level);
/// Passes a line to the sink if its level is enabled.
void log_line(LogLevel level, std::string_view text);

/// Logs which file is processed and which choice was made and why (-v).
template <typename... Values>
void log_info(fmt::format_string<Values...> form, Values&&... values) {
  if (is_logged(LogLevel::info)) log_line(LogLevel::info, fmt::format(form, std::forward<Values>(values)...));
}

/// Logs steps and durations (-v -v).
template <typename... Values>
void log_debug(fmt::format_string<Values...> form, Values&&... values) {
  if (is_logged(LogLevel::debug)) log_line(LogLevel::debug, fmt::format(form, std::forward<Values>(values)...));
}

/// Logs the duration of a step in its destructor (-v -v).
class LogStep {
 public:
  explicit LogStep(std::string_view what) : what_(what) {}
  LogStep(const LogStep&) = delete;
  LogStep& operator=(const LogStep&) = delete;
  ~LogStep();

 private:
  std::string what_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace modelutils
