#include "base/os/programs.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/os/posix/posix_side.h"
#include "base/os/process.h"

extern char** environ;

namespace modelutils::os {

bool is_installed(const std::string& program) {
  const std::string path = environment("PATH").value_or("/usr/bin:/bin");
  for (std::string_view folders = path; !folders.empty();) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    if (::access((std::string(folders.substr(0, end)) + "/" + program).c_str(), X_OK) == 0) return true;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return false;
}

namespace {
pid_t pager = 0;
}

bool begin_pager(const std::string& command) {
  int ends[2];
  if (::pipe(ends) != 0) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    ::signal(SIGPIPE, SIG_DFL);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  if (child > 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    pager = child;
    // The pager handles interrupts. When it ends, our writes fail and the run ends.
    ::signal(SIGINT, SIG_IGN);
  }
  ::close(ends[0]);
  ::close(ends[1]);
  return child > 0;
}

void end_pager() {
  ::close(STDOUT_FILENO);
  int status = 0;
  repeated([&] { return ::waitpid(pager, &status, 0); });
}

namespace {

#if defined(MSG_NOSIGNAL)
constexpr int no_signal = MSG_NOSIGNAL;
#else
constexpr int no_signal = 0;  // handle_signals() and ignore_closed_pipes() ignore SIGPIPE
#endif

}  // namespace

struct Partner::Talk {
  pid_t process = 0;
  int socket = -1;
};

Partner::Partner() : talk_(std::make_unique<Talk>()) {}

Partner::~Partner() {
  if (talk_->socket >= 0) ::close(talk_->socket);
  (void)status();
}

int Partner::start(const Command& command) {
  kill();
  int ends[2];
#if defined(SOCK_CLOEXEC)
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
#else
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return errno;
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
#endif
  talk_->socket = ends[0];
  if (command.buffer > 0) {  // failure is harmless
    ::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &command.buffer, sizeof command.buffer);
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (command.is_quiet) ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> words = command.words;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t process = 0;
  const int error = ::posix_spawnp(&process, command.program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error == 0) talk_->process = process;
  return error;
}

bool Partner::send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = repeated([&] { return ::send(talk_->socket, text.data(), text.size(), no_signal); });
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void Partner::end_input() {
  ::shutdown(talk_->socket, SHUT_WR);
}

bool Partner::receive(void* out, std::size_t size) {
  auto* to = static_cast<char*>(out);
  while (size > 0) {
    const ssize_t got = repeated([&] { return ::recv(talk_->socket, to, size, MSG_WAITALL); });
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

std::optional<std::size_t> Partner::receive_some(void* out, std::size_t size, int milliseconds) {
  pollfd output{talk_->socket, POLLIN, 0};
  if (::poll(&output, 1, milliseconds) <= 0) return std::nullopt;
  const ssize_t got = repeated([&] { return ::recv(talk_->socket, out, size, 0); });
  return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
}

std::optional<int> Partner::status() {
  if (talk_->process == 0) return std::nullopt;
  int status = 0;
  repeated([&] { return ::waitpid(talk_->process, &status, 0); });
  talk_->process = 0;
  if (!WIFEXITED(status)) return std::nullopt;
  return WEXITSTATUS(status);
}

void Partner::kill() {
  if (talk_->process != 0) ::kill(talk_->process, SIGKILL);
  (void)status();
  if (talk_->socket >= 0) ::close(talk_->socket);
  talk_->socket = -1;
}

bool is_abandoned(int milliseconds) {
#if defined(POLLRDHUP)
  pollfd input{STDIN_FILENO, POLLRDHUP, 0};
#else
  pollfd input{STDIN_FILENO, 0, 0};  // POLLHUP is always reported
#endif
  return ::poll(&input, 1, milliseconds) > 0;
}

std::optional<std::array<u8, 16>> address_bytes(const std::string& text) {
  std::array<u8, 16> bytes{};
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  bytes = {};  // a failed call may have written some bytes
  bytes[10] = bytes[11] = 0xFF;
  if (::inet_pton(AF_INET, text.c_str(), &bytes[12]) == 1) return bytes;
  return std::nullopt;
}

std::optional<std::string> address_text(const void* address, std::size_t size) {
  sockaddr_in6 six{};
  sockaddr_in four{};
  char text[INET6_ADDRSTRLEN];
  const void* bytes = nullptr;
  const auto family = size < sizeof four ? AF_UNSPEC : static_cast<const sockaddr*>(address)->sa_family;
  if (family == AF_INET) {
    std::memcpy(&four, address, sizeof four);
    bytes = &four.sin_addr;
  } else if (family == AF_INET6 && size >= sizeof six) {
    std::memcpy(&six, address, sizeof six);
    bytes = &six.sin6_addr;
  }
  if (bytes == nullptr || ::inet_ntop(family, bytes, text, sizeof text) == nullptr) return std::nullopt;
  return text;
}

int open_socket(int family, int type, int protocol) {
  return ::socket(family, type, protocol);
}

bool resolves_hosts() {
  return false;
}

std::vector<std::string> host_addresses(const std::string&) {
  return {};
}

}  // namespace modelutils::os
