// The process and its surroundings: identity, environment, terminal, signals. The only calls of the operating system
// that concern them. As in base/os/files.h, failing functions set errno, and texts are UTF-8.
#pragma once

#include <cstddef>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/integers.h"

namespace modelutils::os {

// Functions for the start of a program.

/// Prepares the process. Occupies closed standard descriptors, so that no other file gets their numbers; reads and
/// writes on them still fail, except that text on standard error is discarded. Raises the limit on open files to the
/// hard limit. Windows: makes standard streams binary and enables UTF-8 and colours on the console.
void prepare_process();
/// Call it first. Windows: replaces the arguments by those of the wide command line, in UTF-8, with the program's name
/// as on other systems (in lower case, with '/', without ".exe").
void take_arguments(int& argc, char**& argv);
/// Expands a pattern with '*' and '?' in its last component to the matching files, sorted; returns the argument itself
/// if there are none, and on systems whose shells expand patterns (all but Windows, where no file name contains these
/// characters).
std::vector<std::string> expand_wildcards(const std::string& argument);

// Identity.

u64 process_id();
unsigned user_id();
bool is_running(u64 process);
/// The machine's name in its network; empty if unknown.
std::string host_name();
/// Texts that identify the machine or container (within which process numbers are unique), and the boot.
std::string machine_identity();
std::string boot_identity();
/// Name of the running program for messages. Does not allocate.
const char* program_name();
/// Path of the running executable, and of the library that contains this function if that is another file; empty if
/// unknown.
std::string own_program();
std::string own_library();
/// True if running with elevated privileges (setuid, file capabilities).
bool has_more_rights();
/// True if an aarch64 processor has carry-less multiplication. False on other processors, for which the caller has
/// another check.
bool has_carryless_product();
/// Fills `out` with unpredictable bytes. Returns false if none are available without waiting.
bool random_bytes(void* out, std::size_t size);

/// The system's text for an errno value.
std::string error_text(int number);

// Environment.

/// Returns the value, or nullopt if it is not set.
std::optional<std::string> environment(const char* name);
/// Returns the user's folder, with '/'; empty if unknown. Taken from HOME; on Windows from USERPROFILE, because
/// programs there ignore HOME, which some shells set.
std::string home_folder();
/// Sets a variable for programs started later, unless it is already set.
void set_default(const char* name, const std::string& value);
bool local_time(std::time_t time, std::tm& out);
bool utc_time(std::time_t time, std::tm& out);

// Terminal.

bool is_terminal(int descriptor);
/// Number of columns, or nullopt if `descriptor` is not a terminal.
std::optional<std::size_t> terminal_columns(int descriptor);

// Ends.

/// Calls on_end(number) when the process is asked to end: by the signals of people, shells, batch systems and limits,
/// and abort(). Signals that the parent ignores stay ignored. Calls on_fault() at a segmentation fault and the like,
/// with a stack of its own; the system's usual action follows. Writes to closed pipes and beyond limits become errors.
/// Both functions must be safe in signal handlers. Windows: Ctrl-C, Ctrl-Break and closing the console count as signal
/// 2; on_end() runs in a thread of its own.
void handle_signals(void (*on_end)(int number), void (*on_fault)());
/// Makes writes to pipes and sockets without a reader fail instead of ending the process.
void ignore_closed_pipes();
/// Ends the process at once, without destructors. Safe in signal handlers.
[[noreturn]] void exit_now(int status);

}  // namespace modelutils::os
