#include "base/os/process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <system_error>

#include "base/os/files.h"
#include "base/os/posix/posix_side.h"

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
  if (::setrlimit(RLIMIT_NOFILE, &files) == 0) return;
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 10240);  // macOS reports no hard limit and accepts at most OPEN_MAX
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

std::string error_text(int number) {
  return std::generic_category().message(number);
}

std::optional<std::string> environment(const char* name) {
  const char* value = ::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

std::string home_folder() {
  return environment("HOME").value_or("");
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
  alignas(16) static std::byte stack[64 * 1024];  // the normal stack may be exhausted; macOS requires at least 32 KiB
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
  ignore_closed_pipes();
  ::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit is a write() error, like a full disk
}

void ignore_closed_pipes() {
  ::signal(SIGPIPE, SIG_IGN);
}

void exit_now(int status) {
  ::_exit(status);
}

}  // namespace modelutils::os
