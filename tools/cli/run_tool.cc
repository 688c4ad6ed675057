
#include <exception>
#include <new>
#include <string_view>

#include "base/os/files.h"
#include "base/os/process.h"
#include "cli/command.h"
#include "cli/pager.h"
#include "io/interrupt.h"
#include "io/standard_output.h"

namespace modelutils::cli {

namespace {

int internal_error_line(const char* name, const char* what, const char* more) {
  // Must not allocate, because memory may be exhausted.
  for (const char* part : {name, ": ", what, more, " [internal]\n"}) {
    std::size_t size = 0;
    while (part[size] != '\0') ++size;
    os::write(os::standard_error, part, size);
  }
  return exit_internal;
}

// Handles exceptions that cannot be caught, or cannot be thrown for lack of memory.
[[noreturn]] void end_by_terminate() {
  internal_error_line(os::program_name(), std::current_exception() ? "internal error" : "out of memory", "");
  end_process(exit_internal);
}

// Installed before the constructors of static objects run, because memory can be exhausted that early.
[[gnu::constructor(101)]] void take_terminate() {
  std::set_terminate(end_by_terminate);
}

}  // namespace

int run_tool(const char* name, int argc, char** argv, int (*run)(int argc, char** argv)) {
  os::prepare_process();
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
