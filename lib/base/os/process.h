// The process and its surroundings: identity, environment, terminal, signals, other programs. The only calls of the
// operating system that concern them. As in base/os/files.h, failing functions set errno, and texts are UTF-8.
#pragma once

#include <cstddef>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/integers.h"

namespace modelutils::os {

// At the start of a program.

/// Prepares the process: standard descriptors that are closed are taken, so that no other file gets their numbers;
/// reads and writes on them still fail, except that text on standard error is discarded. Raises the limit on open files
/// to what the user may have. Windows: standard streams carry bytes, and the console shows UTF-8 and colours.
void prepare_process();
/// Call it first. Windows: replaces the arguments by those of the wide command line, in UTF-8, with the program's name
/// as elsewhere ('/', no ".exe").
void take_arguments(int& argc, char**& argv);
/// Returns the files that a pattern with '*' and '?' in its last part means, sorted; only the argument itself if there
/// are none, and on systems whose shells do this (all but Windows, where no file name contains these characters).
std::vector<std::string> expand_wildcards(const std::string& argument);

// Identity.

u64 process_id();
unsigned user_id();
bool is_running(u64 process);
/// The machine's name in its network; empty if unknown.
std::string host_name();
/// Texts that differ between machines and containers (in which numbers of processes are unique), and between boots.
std::string machine_identity();
std::string boot_identity();
/// Name of the running program for messages. Does not allocate.
const char* program_name();
/// Path of the running executable and, if it is another file, of the library that contains this function; empty if
/// unknown.
std::string own_program();
std::string own_library();
/// True if running with elevated privileges (setuid, file capabilities).
bool has_more_rights();
/// True if an aarch64 processor has carry-less multiplication. False on other processors, which have their own check.
bool has_carryless_product();
/// Fills `out` with unpredictable bytes. Returns false if none are available without waiting.
bool random_bytes(void* out, std::size_t size);

// Environment.

/// Returns the value, or nullopt if it is not set.
std::optional<std::string> environment(const char* name);
/// Sets a variable, for programs started later, unless it is set.
void set_default(const char* name, const std::string& value);
bool local_time(std::time_t time, std::tm& out);
bool utc_time(std::time_t time, std::tm& out);

// Terminal.

bool is_terminal(int descriptor);
/// Number of columns, or nullopt if `descriptor` is no terminal.
std::optional<std::size_t> terminal_columns(int descriptor);

// Ends.

/// Calls on_end(number) when the process is asked to end: by the signals of people, shells, batch systems and limits,
/// and abort(). Signals that the parent ignores stay ignored. Calls on_fault() at a segmentation fault and the like,
/// with a stack of its own; the system's usual action follows. Writes to closed pipes and beyond limits become errors.
/// Both functions must be safe in signal handlers. Windows: Ctrl-C, Ctrl-Break and closing the console count as signal
/// 2; on_end() runs in a thread of its own.
void handle_signals(void (*on_end)(int number), void (*on_fault)());
/// Ends the process at once, without destructors. Safe in signal handlers.
[[noreturn]] void exit_now(int status);

// Other programs.

/// True if PATH has a program of that name.
bool is_installed(const std::string& program);
/// Starts a shell's command that reads what this process writes to standard output from now on, and ignores Ctrl-C from
/// then on. False if that fails. Windows: always.
bool begin_pager(const std::string& command);
/// Closes standard output and waits for the end of the pager.
void end_pager();

/// A program with which we talk over its standard input and output.
class Partner {
 public:
  Partner() = default;
  /// Closes the connection, which asks the program to end, and waits for its end.
  ~Partner();
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;

  /// Starts the program, as `name`. `buffer` is how many bytes it may send ahead. Returns 0 or the errno value.
  /// Windows: ENOSYS.
  int start(const std::string& path, const std::string& name, int buffer);
  /// Sends or receives all bytes; false if the connection is broken.
  bool send(std::string_view text);
  bool receive(void* out, std::size_t size);

 private:
  int socket_ = -1;
  i64 process_ = 0;
};

}  // namespace modelutils::os
