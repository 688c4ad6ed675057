// What -v shows: which files are opened, what they are taken for and why, which rules run, how long things take. The
// library says it; a program that wants it (tools/cli) decides how much and where to.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

enum class LogLevel : u8 { nothing, info, debug };

/// Gets one line of text, not escaped; called by several threads at a time.
using LogSink = std::function<void(LogLevel level, std::string_view text)>;

/// From now on `sink` gets everything up to `level`. To be called before threads start; nothing is logged until then.
void set_log(LogLevel level, LogSink sink);

bool is_logged(LogLevel level);
/// Gives the sink a line, if lines of this level are wanted.
void log_line(LogLevel level, std::string_view text);

/// What is done with which file, and what was chosen and why (-v).
template <typename... Values>
void log_info(fmt::format_string<Values...> form, Values&&... values) {
  if (is_logged(LogLevel::info)) log_line(LogLevel::info, fmt::format(form, std::forward<Values>(values)...));
}

/// Steps and times (-v -v).
template <typename... Values>
void log_debug(fmt::format_string<Values...> form, Values&&... values) {
  if (is_logged(LogLevel::debug)) log_line(LogLevel::debug, fmt::format(form, std::forward<Values>(values)...));
}

/// Logs at its end how long a step took (-v -v).
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
