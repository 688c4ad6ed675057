// What the tools share: one definition of each flag (it feeds --help, the man page and the completions), the
// common flags, exit codes, error printing, colours and the last line of defence in main.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace modelutils::cli {

/// Exit statuses of the command line contract.
inline constexpr int exit_ok = 0;
inline constexpr int exit_findings = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_input = 3;
inline constexpr int exit_output = 4;
inline constexpr int exit_internal = 70;

int exit_status(const Error& error);

/// What the statuses mean, for --help and the man page.
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
  When pager = When::automatic;  ///< of tools with add_pager()
  bool json_errors = false;
};

/// What a flag's value is, for completions.
enum class ValueKind : u8 { text, number, size, file, output_file, directory, choice, key, known_key, tensor };

/// One flag or positional argument: the only place that describes it.
struct Flag {
  std::string names;              ///< "-o,--output"; for a positional just "FILE"
  std::string value_name = {};    ///< "FILE"; empty for a flag without value
  std::string help = {};          ///< one sentence, no full stop needed
  std::string group = "Options";  ///< heading in --help and the man page
  ValueKind kind = ValueKind::text;
  std::vector<std::string> choices = {};        ///< for ValueKind::choice; anything else is a usage error
  std::vector<std::string> file_patterns = {};  ///< for files: "*.gguf"; for completions only
  bool in_usage = false;                        ///< stands in the usage line: the tool hardly works without it
  bool may_lack = false;                        ///< of a positional: the tool says itself when it is missing
  bool repeatable = false;                      ///< set by Command::add() for lists

  bool is_positional() const { return names[0] != '-'; }
  /// "--output" of "-o,--output": what messages call it.
  std::string_view long_name() const;
};

/// One occurrence of a flag on the command line.
struct Occurrence {
  std::string flag;  ///< its long name
  std::vector<std::string> values;
};

struct Example {
  std::string command;
  std::string explanation;
};

/// A tool's command line. Wraps CLI11; the variables must outlive parse().
class Command {
 public:
  Command(std::string name, std::string summary);
  Command(Command&&) noexcept;
  Command& operator=(Command&&) noexcept;
  ~Command();

  /// A flag without value.
  void add(Flag flag, bool& target);
  void add(Flag flag, std::string& target);
  void add(Flag flag, std::optional<std::string>& target);
  void add(Flag flag, std::vector<std::string>& target);  ///< may be given several times
  void add(Flag flag, std::optional<u64>& target);        ///< a decimal number
  /// A size: 4096, 10K, 2M, 3G (decimal units as gguf-split uses them).
  void add_size(Flag flag, std::optional<u64>& target);
  /// A flag with `count` values (0, 1, or more, which value_name lists) that may be given several times. All such flags
  /// of a tool share one target, which has their occurrences in the order of the command line.
  void add_ordered(Flag flag, std::size_t count, std::vector<Occurrence>& target);
  /// The same for memory: K, M and G are powers of 1024.
  void add_memory(Flag flag, std::optional<u64>& target);
  /// Positional arguments, at least one.
  void add_paths(Flag flag, std::vector<std::string>& target);
  /// One positional argument.
  void add_path(Flag flag, std::string& target);

  /// The first five are also shown by -h.
  void example(std::string command, std::string explanation);
  /// The long names of the flags that -h shows, in this order.
  void daily(std::vector<std::string> long_names);
  /// A paragraph for the man page and the end of --help.
  void description(std::string text);

  /// --allow-private-redirect, --no-cache and --timeout, of tools that read models at an address.
  void add_remote_flags();
  /// --pager, of tools that list; they call start_pager() (pager.h).
  void add_pager();
  /// What every tool has; parse() adds it where it is missing.
  void add_common_flags();
  /// Parses; if the run is over (--help, --version, wrong usage: already printed), the exit status.
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

/// "4096", "8K", "24G" with powers of 1024. Error (usage): names the flag.
Result<u64> parse_binary_size(std::string_view flag, std::string_view text);

/// Shows on stderr what the library logs, with -v what is opened and chosen, with -v -v steps and times as well.
void show_log(const std::string& tool, const CommonOptions& options);

/// Shows remarks about finished outputs on stderr.
void show_output_remarks(const Command& command);

/// Requests that are tried again become warnings.
void show_retries(const Command& command);

/// Messages on stderr: "TOOL: FILE: byte N: WHERE: MESSAGE [CODE]", escaped, or one JSON object a line with
/// --errors=json.
class Messages {
 public:
  explicit Messages(const Command& command);
  Messages(std::string tool, CommonOptions options);

  /// Prints an error and gives its exit status.
  int error(const Error& error) const;
  void warning(const Error& remark) const;  ///< silent with --quiet
  /// A warning or note about the model at `path`, silent with --quiet.
  void remark(const Finding& finding, const std::string& path) const;
  /// What a dumper says of the rules that the model at `path` breaks: the first container error and every warning that
  /// leads, with -v every warning. Gives the exit status.
  int broken_rules(const Findings& findings, const std::string& path) const;

 private:
  std::string tool_;
  CommonOptions options_;
};

/// Shall stdout be coloured? --color, NO_COLOR, TERM=dumb, and whether it is a terminal.
bool use_color(const CommonOptions& options);
/// Shall progress be shown on stderr?
bool use_progress(const CommonOptions& options);
/// Is stdout a terminal?
bool stdout_is_terminal();
/// Columns of the terminal on stdout, or `fallback` if it is none (COLUMNS counts if set).
std::size_t terminal_width(std::size_t fallback = 0);

/// Prints "NAME (modelutils) VERSION". Returns the exit status.
int print_version(const std::string& name, const CommonOptions& options = {});

/// main() of every tool: installs the signal handlers, calls `run`, turns exceptions into one line and status 70.
/// Answers a lone --version itself, because setting up CLI11 takes longer than everything else that --version does.
int run_tool(const char* name, int argc, char** argv, int (*run)(int argc, char** argv));

}  // namespace modelutils::cli
