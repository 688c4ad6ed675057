
#include <string_view>

#include "base/os/files.h"
#include "base/os/process.h"
#include "cli/command.h"
#include "cli/pager.h"

namespace modelutils::cli {

namespace {

std::string environment(const char* name) {
  return os::environment(name).value_or("");
}

bool decide(When when, bool automatic) {
  return when == When::always || (when == When::automatic && automatic);
}

}  // namespace

bool stdout_is_terminal() {
  return has_pager() || os::is_terminal(os::standard_output);
}

bool use_color(const CommonOptions& options) {
  return decide(options.color,
                environment("NO_COLOR").empty() && environment("TERM") != "dumb" && stdout_is_terminal());
}

bool use_progress(const CommonOptions& options) {
  return decide(options.progress,
                !options.quiet && os::is_terminal(os::standard_error) && environment("TERM") != "dumb");
}

std::size_t terminal_width(std::size_t fallback) {
  std::size_t columns = 0;
  for (char c : environment("COLUMNS")) {
    if (c < '0' || c > '9' || columns > 9999) return fallback;
    columns = columns * 10 + static_cast<std::size_t>(c - '0');
  }
  if (columns > 0) return columns;
  return os::terminal_columns(os::standard_output).value_or(fallback);
}

}  // namespace modelutils::cli
