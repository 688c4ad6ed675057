#include "base/log.h"

namespace modelutils {

namespace {

struct Log {
  LogLevel level = LogLevel::nothing;
  LogSink sink;
};

Log& the_log() {
  static Log log;
  return log;
}

}  // namespace

void set_log(LogLevel level, LogSink sink) {
  the_log() = {level, std::move(sink)};
}

bool is_logged(LogLevel level) {
  return level <= the_log().level;
}

void log_line(LogLevel level, std::string_view text) {
  if (is_logged(level)) the_log().sink(level, text);
}

LogStep::~LogStep() {
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start_;
  log_debug("{}: {:.1f} ms", what_, took.count());
}

}  // namespace modelutils
