#include "fetch/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

extern char** environ;

namespace fetch {

namespace {

constexpr std::size_t max_said = 64 << 10;
constexpr int descriptor_of_notes = 3;

std::vector<pid_t>& running() {
  static std::vector<pid_t> processes;
  return processes;
}

void close_it(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

// True for variables that name a proxy. They are removed: an option sets the proxy, and nothing else may.
bool names_proxy(const char* variable) {
  const char* const end = std::strchr(variable, '=');
  const std::size_t length = end == nullptr ? std::strlen(variable) : static_cast<std::size_t>(end - variable);
  constexpr std::size_t tail = 6;
  return length >= tail && strncasecmp(variable + length - tail, "_proxy", tail) == 0;
}

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() = default;
  ~Pipe() {
    close_it(ends[0]);
    close_it(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool open() {
    if (::pipe(ends) != 0) return false;
    return ::fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0 && ::fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0;
  }
  int take(int end) {
    const int descriptor = ends[end];
    ends[end] = -1;
    return descriptor;
  }
};

void write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t done = ::write(descriptor, text.data() + at, text.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;  // the program has ended; its status tells why
    at += static_cast<std::size_t>(done);
  }
}

}  // namespace

int Program::start(const std::vector<std::string>& arguments, const std::string& input) {
  end();
  ::signal(SIGPIPE, SIG_IGN);
  Pipe in;
  Pipe out;
  Pipe notes;
  if (!in.open() || !out.open() || !notes.open()) return errno;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, notes.ends[1], descriptor_of_notes);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &usual);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> words = arguments;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!names_proxy(*variable)) environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  const int error = ::posix_spawnp(&process_, argv[0], &actions, &attributes, argv.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    process_ = 0;
    return error;
  }
  running().push_back(process_);
  close_it(in.ends[0]);
  close_it(out.ends[1]);
  close_it(notes.ends[1]);
  write_all(in.ends[1], input);
  output_ = out.take(0);
  notes_ = notes.take(0);
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
  ::fcntl(notes_, F_SETFL, O_NONBLOCK);
  return 0;
}

std::optional<int> Program::status() {
  if (process_ == 0) return {};
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  running().erase(std::remove(running().begin(), running().end(), process_), running().end());
  process_ = 0;
  if (!WIFEXITED(status)) return {};
  return WEXITSTATUS(status);
}

void Program::end() {
  if (process_ != 0) {
    ::kill(process_, SIGKILL);
    (void)status();
  }
  close_output();
  close_notes();
}

void Program::close_output() {
  close_it(output_);
}

void Program::close_notes() {
  close_it(notes_);
}

void end_programs() {
  for (const pid_t process : running()) ::kill(process, SIGKILL);
}

std::optional<Said> ask_program(const std::vector<std::string>& arguments, unsigned seconds) {
  Said said;
  Program program;
  said.error = program.start(arguments, {});
  if (said.error != 0) return said;
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  while (true) {
    char piece[4096];
    const ssize_t got = ::read(program.output(), piece, sizeof piece);
    if (got > 0) said.output.append(piece, static_cast<std::size_t>(got));
    if (got == 0) break;
    if (said.output.size() > max_said) return {};
    if (got > 0 || errno == EINTR) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (errno != EAGAIN || left <= 0) return {};
    pollfd output{program.output(), POLLIN, 0};
    ::poll(&output, 1, static_cast<int>(left));
  }
  const auto status = program.status();
  if (!status) return {};
  said.status = *status;
  return said;
}

}  // namespace fetch
