#include "cli/pager.h"

#include <string>
#include <utility>

#include "base/os/process.h"
#include "base/os/programs.h"

namespace modelutils::cli {

namespace {

bool is_running = false;

// Returns the pager's shell command, or empty for none.
std::string wanted_pager() {
  for (const char* name : {"MODELUTILS_PAGER", "PAGER"}) {
    if (auto value = os::environment(name)) return *value == "cat" ? std::string() : std::move(*value);
  }
  return os::is_installed("less") ? "less" : std::string();
}

}  // namespace

void start_pager(When when) {
  const bool is_dumb = os::environment("TERM") == "dumb";
  if (when == When::never || !stdout_is_terminal() || (when == When::automatic && is_dumb)) return;
  const std::string command = wanted_pager();
  if (command.empty()) return;
  os::set_default("LESS", "FRX");  // quit if the text fits on one screen, show colours, leave the text on the screen
  os::set_default("COLUMNS", std::to_string(terminal_width(80)));
  is_running = os::begin_pager(command);
}

bool has_pager() {
  return is_running;
}

void finish_pager() {
  if (std::exchange(is_running, false)) os::end_pager();
}

}  // namespace modelutils::cli
