// The parts that all tools share: one definition per flag (used by --help, the man page and the completions), common
// flags, exit statuses, error messages, colours, and the exception handler of main.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace modelutils::cli {

/// Exit statuses, as documented for the command line.
inline constexpr int exit_ok = 0;
inline constexpr int exit_findings = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_input = 3;
inline constexpr int exit_output = 4;
inline constexpr int exit_internal = 70;

int exit_status(const Error& error);

/// Their meanings, for --help and the man page.
struct ExitStatus {
  std::string_view number;
  std::string_view meaning;
};
inline constexpr ExitStatus exit_statuses[] = {{"0", "fine"},
                                               {"1", "findings or differences, or a pattern that selects nothing"},
                                               {"2", "wrong usage"},
                                               {"3", "the input cannot be used"},
                                               {"4", "the output cannot be written"},
                                               {"70", "internal error (a bug)"},
                                               {"128+N", "ended by signal N"}};

/// Heading of the flags that every tool has.
inline constexpr std::string_view common_group = "Common options";

enum class When : u8 { automatic, always, never };

/// The flags that every tool has.
struct CommonOptions {
  bool quiet = false;
  int verbosity = 0;
  When color = When::automatic;
  When progress = When::automatic;
  When pager = When::automatic;  ///< for tools with add_pager()
  bool json_errors = false;
};

/// The kind of value that a flag takes, for completions.
enum class ValueKind : u8 { text, number, size, file, output_file, directory, choice, key, known_key, tensor };

/// One flag or positional argument. All other uses of a flag derive from this.
struct Flag {
  std::string names;              ///< "-o,--output"; only "FILE" for a positional argument
  std::string value_name = {};    ///< "FILE"; empty for a flag without a value
  std::string help = {};          ///< one sentence, no full stop needed
  std::string group = "Options";  ///< heading in --help and the man page
  ValueKind kind = ValueKind::text;
  std::vector<std::string> choices = {};  ///< for ValueKind::choice; any other value is a usage error
  /// For files, e.g. "*.gguf"; for directories, words that may be given instead. Used by completions only.
  std::vector<std::string> file_patterns = {};
  bool in_usage = false;      ///< shown in the usage line, because the tool hardly works without it
  bool may_lack = false;      ///< for a positional argument: the tool itself reports its absence
  bool repeatable = false;    ///< set by Command::add() for lists
  std::string synonyms = {};  ///< names of the same flag in other tools, "--a|--b": accepted, but not listed

  bool is_positional() const { return names[0] != '-'; }
  /// Returns the name used in messages: "--output" for "-o,--output".
  std::string_view long_name() const;
};

/// One occurrence of a flag on the command line.
struct Occurrence {
  std::string flag;  ///< long name of the flag
  std::vector<std::string> values;
};

struct Example {
  std::string command;
  std::string explanation;
};

/// A tool's command line, parsed with CLI11. The target variables must outlive parse().
class Command {
 public:
  Command(std::string name, std::string summary);
  Command(Command&&) noexcept;
  Command& operator=(Command&&) noexcept;
  ~Command();

  /// Adds a flag without a value.
  void add(Flag flag, bool& target);
  void add(Flag flag, std::string& target);
  void add(Flag flag, std::optional<std::string>& target);
  void add(Flag flag, std::vector<std::string>& target);  ///< repeatable
  void add(Flag flag, std::optional<u64>& target);        ///< a decimal number
  /// Adds a size: 4096, 10K, 1.5G (decimal units, as in gguf-split).
  void add_size(Flag flag, std::optional<u64>& target);
  /// Adds a repeatable flag with `count` values (0, 1, or several, listed in value_name). All such flags of a tool
  /// share one target, which receives their occurrences in command-line order.
  void add_ordered(Flag flag, std::size_t count, std::vector<Occurrence>& target);
  /// Like add_size(), but K, M and G are powers of 1024.
  void add_memory(Flag flag, std::optional<u64>& target);
  /// Adds a number of tokens: 8192, 32K; K and M are powers of 1024.
  void add_tokens(Flag flag, std::optional<u64>& target);

  /// Adds an example. -h shows only the first ones, five at most.
  void example(std::string command, std::string explanation);
  /// Sets the flags that -h shows, by long name, in this order.
  void daily(std::vector<std::string> long_names);
  /// Adds a paragraph to the man page and to the end of --help.
  void description(std::string text);

  /// Adds --allow-private-redirect, --no-cache and --timeout, for tools that read models at an address.
  void add_remote_flags();
  /// Adds --pager, for tools that print lists. They must call start_pager() (pager.h).
  void add_pager();
  /// Adds the flags that every tool has. parse() calls it if necessary.
  void add_common_flags();
  /// Parses the command line. Returns the exit status if the run is over: --help, --version or a usage error was
  /// printed.
  std::optional<int> parse(int argc, char** argv);

  const std::string& name() const;
  const std::string& summary() const;
  const std::vector<std::string>& descriptions() const;
  const std::vector<Example>& examples() const;
  const std::vector<std::string>& daily_flags() const;
  const CommonOptions& common() const;
  const std::vector<Flag>& flags() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Prints the library's log to stderr: with -v opened files and choices, with -v -v also steps and times.
void show_log(const std::string& tool, const CommonOptions& options);

/// Prints remarks about finished outputs to stderr.
void show_output_remarks(const Command& command);

/// Prints a warning for each request that is retried, and when a server is slow.
void show_network_notes(const Command& command);

/// Prints messages to stderr: "TOOL: FILE: byte N: WHERE: MESSAGE [CODE]", escaped, or with --errors=json one JSON
/// object per line.
class Messages {
 public:
  explicit Messages(const Command& command);
  Messages(std::string tool, CommonOptions options);

  /// Prints an error and returns its exit status.
  int error(const Error& error) const;
  void warning(const Error& remark) const;  ///< silent with --quiet
  /// Prints a warning or note about the model at `path`, unless --quiet is set.
  void remark(const Finding& finding, const std::string& path) const;
  /// Prints a dumper's findings about the model at `path`: the first container error and all leading warnings; with -v,
  /// all warnings. Returns the exit status.
  int broken_rules(const Findings& findings, const std::string& path) const;

 private:
  std::string tool_;
  CommonOptions options_;
};

/// True if stdout should be coloured. Depends on --color, NO_COLOR, TERM=dumb, and whether stdout is a terminal.
bool use_color(const CommonOptions& options);
/// True if progress should be shown on stderr.
bool use_progress(const CommonOptions& options);
/// True if stdout is a terminal.
bool stdout_is_terminal();
/// Returns the width of the terminal on stdout in columns, or `fallback` if it is not a terminal. COLUMNS takes
/// precedence if set.
std::size_t terminal_width(std::size_t fallback = 0);

/// Prints "NAME (modelutils) VERSION" and returns the exit status.
int print_version(const std::string& name, const CommonOptions& options = {});

/// The main() of every tool: installs the signal handlers, calls `run`, and turns exceptions into one line and status
/// 70. Handles a lone --version without CLI11, whose setup takes longer than the rest of --version.
int run_tool(const char* name, int argc, char** argv, int (*run)(int argc, char** argv));

}  // namespace modelutils::cli
