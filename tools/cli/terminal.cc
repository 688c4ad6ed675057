#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "cli/command.h"
#include "cli/pager.h"

namespace modelutils::cli {

namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : value;
}

bool decide(When when, bool automatic) {
  return when == When::always || (when == When::automatic && automatic);
}

}  // namespace

bool stdout_is_terminal() {
  return has_pager() || ::isatty(STDOUT_FILENO) != 0;
}

bool use_color(const CommonOptions& options) {
  return decide(options.color,
                environment("NO_COLOR").empty() && environment("TERM") != "dumb" && stdout_is_terminal());
}

bool use_progress(const CommonOptions& options) {
  return decide(options.progress, !options.quiet && ::isatty(STDERR_FILENO) != 0 && environment("TERM") != "dumb");
}

std::size_t terminal_width(std::size_t fallback) {
  std::size_t columns = 0;
  for (char c : environment("COLUMNS")) {
    if (c < '0' || c > '9' || columns > 9999) return fallback;
    columns = columns * 10 + static_cast<std::size_t>(c - '0');
  }
  if (columns > 0) return columns;
  struct winsize size {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return fallback;
}

}  // namespace modelutils::cli
