#include "base/os/process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/os/files.h"
#include "base/os/posix/posix_side.h"

extern char** environ;

namespace modelutils::os {

namespace {

// Opens /dev/null on closed standard descriptors. Otherwise the next opened file would get the number, and results
// would be written into it. /dev/null is opened in the wrong direction, so that reads and writes still fail with EBADF.
// The exception is standard error: messages to a closed one are discarded.
void occupy_closed_descriptors() {
  for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF) {
      [[maybe_unused]] const int taken = ::open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
    }
  }
}

// Raises the limit on open files to the hard limit. A model may have thousands of files open at once, and the usual
// limit is 1,024. The low limit protects callers of select(), which no tool uses.
void allow_many_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  [[maybe_unused]] const int raised = ::setrlimit(RLIMIT_NOFILE, &files);  // if this fails, open() will report it
}

}  // namespace

void prepare_process() {
  occupy_closed_descriptors();
  allow_many_files();
}

void take_arguments(int& /*argc*/, char**& /*argv*/) {}

std::vector<std::string> expand_wildcards(const std::string& argument) {
  return {argument};
}

u64 process_id() {
  return static_cast<u64>(::getpid());
}

unsigned user_id() {
  return ::geteuid();
}

bool is_running(u64 process) {
  const pid_t number = static_cast<pid_t>(process);
  return static_cast<u64>(number) != process || ::kill(number, 0) == 0 || errno != ESRCH;
}

std::string host_name() {
  struct utsname host {};
  return ::uname(&host) == 0 ? host.nodename : "";
}

std::string own_library() {
  Dl_info library = {};
  if (::dladdr(reinterpret_cast<const void*>(&own_library), &library) == 0) return {};
  return resolve(library.dli_fname).value_or("");
}

std::optional<std::string> environment(const char* name) {
  const char* value = ::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

void set_default(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 0);
}

bool local_time(std::time_t time, std::tm& out) {
  return ::localtime_r(&time, &out) != nullptr;
}

bool utc_time(std::time_t time, std::tm& out) {
  return ::gmtime_r(&time, &out) != nullptr;
}

bool is_terminal(int descriptor) {
  return ::isatty(descriptor) != 0;
}

std::optional<std::size_t> terminal_columns(int descriptor) {
  struct winsize size {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

namespace {

void (*fault)() = nullptr;

// SA_RESETHAND has restored the default action by now, so raising the signal ends the process as usual, with a core
// dump if enabled. raise() is needed for a signal sent by another process, which does not recur.
extern "C" void end_by_fault(int number) {
  fault();
  ::raise(number);
}

// Handles SIGSEGV and the like: a stack that cannot grow (out of memory, or a limit) or a bug in our code. Not under
// sanitizers, whose own handlers report more.
void install_fault_handlers() {
  alignas(16) static std::byte stack[16 * 1024];  // the normal stack may be exhausted
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  if (::sigaltstack(&alternative, nullptr) != 0) return;
  struct sigaction action {};
  action.sa_handler = end_by_fault;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  sigfillset(&action.sa_mask);
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    struct sigaction before {};
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
      ::sigaction(number, &action, nullptr);
    }
  }
}

}  // namespace

void handle_signals(void (*on_end)(int number), void (*on_fault)()) {
  struct sigaction action {};
  action.sa_handler = on_end;
  sigfillset(&action.sa_mask);
  // Signals from people, shells, batch systems and resource limits, and from abort().
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGABRT}) {
    struct sigaction before {};
    // A signal that the parent ignores (nohup) stays ignored.
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    ::sigaction(number, &action, nullptr);
  }
  fault = on_fault;
  install_fault_handlers();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit is a write() error, like a full disk
}

void exit_now(int status) {
  ::_exit(status);
}

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

int Partner::start(const std::string& path, const std::string& name, int buffer) {
  int ends[2];
#if defined(SOCK_CLOEXEC)
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
#else
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return errno;
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
#endif
  socket_ = ends[0];
  // Failure is harmless.
  ::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string own_name = name;
  char* words[] = {own_name.data(), nullptr};
  pid_t process = 0;
  const int error = ::posix_spawn(&process, path.c_str(), &actions, nullptr, words, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error == 0) process_ = process;
  return error;
}

Partner::~Partner() {
  if (socket_ >= 0) ::close(socket_);
  if (process_ > 0) repeated([&] { return ::waitpid(static_cast<pid_t>(process_), nullptr, 0); });
}

bool Partner::send(std::string_view text) {
#if defined(MSG_NOSIGNAL)
  constexpr int flags = MSG_NOSIGNAL;
#else
  constexpr int flags = 0;  // handle_signals() ignores SIGPIPE
#endif
  while (!text.empty()) {
    const ssize_t sent = repeated([&] { return ::send(socket_, text.data(), text.size(), flags); });
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Partner::receive(void* out, std::size_t size) {
  auto* to = static_cast<char*>(out);
  while (size > 0) {
    const ssize_t got = repeated([&] { return ::recv(socket_, to, size, MSG_WAITALL); });
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace modelutils::os
