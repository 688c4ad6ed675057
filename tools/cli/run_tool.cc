#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <new>
#include <string_view>

#include "base/system.h"
#include "cli/command.h"
#include "cli/pager.h"
#include "io/interrupt.h"
#include "io/standard_output.h"

namespace modelutils::cli {

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

int internal_error_line(const char* name, const char* what, const char* more) {
  // Does not allocate, because memory may be exhausted.
  for (const char* part : {name, ": ", what, more, " [internal]\n"}) {
    std::size_t size = 0;
    while (part[size] != '\0') ++size;
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, part, size);
  }
  return exit_internal;
}

// Handles exceptions that cannot be caught, or cannot be thrown for lack of memory.
[[noreturn]] void end_by_terminate() {
  internal_error_line(system::program_name(), std::current_exception() ? "internal error" : "out of memory", "");
  end_process(exit_internal);
}

// Installed before the constructors of static objects run, because memory can be exhausted that early.
[[gnu::constructor(101)]] void take_terminate() {
  std::set_terminate(end_by_terminate);
}

}  // namespace

int run_tool(const char* name, int argc, char** argv, int (*run)(int argc, char** argv)) {
  occupy_closed_descriptors();
  allow_many_files();
  guard_standard_output();
  remember_read_files();
  install_signal_handlers();
  try {
    if (argc == 2 && argv[1] == std::string_view("--version")) return print_version(name);
    const int status = run(argc, argv);
    finish_pager();
    return status;
  } catch (const std::bad_alloc&) {
    return internal_error_line(name, "out of memory", "");
  } catch (const std::exception& error) {
    return internal_error_line(name, "internal error: ", error.what());
  } catch (...) {
    return internal_error_line(name, "internal error", "");
  }
}

}  // namespace modelutils::cli
