#include "cli/pager.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

namespace modelutils::cli {

namespace {

pid_t pager = 0;

const char* variable(const char* name) {
  return std::getenv(name);
}

// True if PATH has a program of that name.
bool is_installed(const std::string& program) {
  const char* path = variable("PATH");
  std::string_view folders = path == nullptr ? std::string_view("/usr/bin:/bin") : std::string_view(path);
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    if (::access((std::string(folders.substr(0, end)) + "/" + program).c_str(), X_OK) == 0) return true;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return false;
}

// Returns the pager's shell command, or empty for none.
std::string wanted_pager() {
  for (const char* name : {"MODELUTILS_PAGER", "PAGER"}) {
    const char* value = variable(name);
    if (value != nullptr) return std::string_view(value) == "cat" ? std::string() : std::string(value);
  }
  return is_installed("less") ? "less" : std::string();
}

}  // namespace

void start_pager(When when) {
  const char* terminal = variable("TERM");
  const bool is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  if (when == When::never || !stdout_is_terminal() || (when == When::automatic && is_dumb)) return;
  const std::string command = wanted_pager();
  int pipe_ends[2];
  if (command.empty() || ::pipe(pipe_ends) != 0) return;
  const std::string width = std::to_string(terminal_width(80));
  ::setenv("LESS", "FRX", 0);  // quit if the text fits on one screen, show colours, leave the text on the screen
  ::setenv("COLUMNS", width.c_str(), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe_ends[0], STDIN_FILENO);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    ::signal(SIGPIPE, SIG_DFL);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  if (child > 0) {
    ::dup2(pipe_ends[1], STDOUT_FILENO);
    pager = child;
    // The pager handles interrupts. When it ends, our writes fail and the run ends.
    ::signal(SIGINT, SIG_IGN);
  }
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

bool has_pager() {
  return pager != 0;
}

void finish_pager() {
  if (pager == 0) return;
  ::close(STDOUT_FILENO);
  int status = 0;
  while (::waitpid(pager, &status, 0) < 0 && errno == EINTR) {
  }
  pager = 0;
}

}  // namespace modelutils::cli
