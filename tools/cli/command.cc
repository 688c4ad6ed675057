// The only file that uses CLI11. CLI11 only splits the command line; values, messages and help are implemented here,
// because CLI11's exit codes and texts differ from the documented ones.
#include "cli/command.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <stdexcept>

#include "base/os/files.h"
#include "base/os/process.h"
#include "base/text.h"
#include "cli/help_text.h"
#include "cli/mistakes.h"
#include "cli/operands.h"
#include "cli/option_values.h"
#include "cli/pager.h"
#include "formats/hf/names.h"
#include "io/remote_address.h"
#include "io/remote_settings.h"
#include "io/standard_output.h"

namespace modelutils::cli {

namespace {

// The information that CLI11 needs about a flag, and the function that receives its values; it is not called if there
// are none.
struct Entry {
  std::size_t values_per_use = 0;
  bool several = false;
  CLI::Option* option = nullptr;  // nullptr for positional arguments and for flags that no argument can match
  std::function<Status(const Flag& flag, const std::vector<std::string>& values)> take = {};
  std::vector<std::string> values = {};
  std::vector<Occurrence>* ordered = nullptr;  // for a flag whose position among others matters
};

// Returns a value with '/' between the parts of a path, if it is one.
std::string with_slashes(const Flag& flag, std::string value) {
  const bool is_path =
      flag.kind == ValueKind::file || flag.kind == ValueKind::output_file || flag.kind == ValueKind::directory;
  return is_path ? os::from_native(std::move(value)) : std::move(value);
}

// Returns the function that sets `target`, a string or an optional one, to the last of a flag's values.
template <typename Target>
auto set_text(Target& target) {
  return [&target](const Flag& self, const std::vector<std::string>& values) -> Status {
    MU_TRY(check_choice(self, values.back()));
    target = values.back();
    return {};
  };
}

// Returns the function that sets `target` to the result of parse(long name, last value).
template <typename Parse>
auto set_number(std::optional<u64>& target, Parse parse) {
  return [&target, parse](const Flag& self, const std::vector<std::string>& values) -> Status {
    MU_ASSIGN(target, parse(self.long_name(), values.back()));
    return {};
  };
}

When when(std::string_view text) {
  return text == "always" ? When::always : text == "never" ? When::never : When::automatic;
}

}  // namespace

std::string_view Flag::long_name() const {
  const std::size_t comma = names.rfind(',');
  return comma == std::string::npos ? std::string_view(names) : std::string_view(names).substr(comma + 1);
}

struct Command::State {
  State(std::string tool, std::string text) : name(std::move(tool)), summary(std::move(text)) {
    app.allow_extras();
    app.set_help_flag();  // ours replaces CLI11's, whose exception costs a static program 3 ms
    short_help = app.add_flag("-h")->disable_flag_override()->take_all();
    long_help = app.add_flag("--help")->disable_flag_override()->take_all();
    version = app.add_flag("--version")->disable_flag_override()->take_all();
  }

  // Adds an option with a value, or a positional argument. Positional arguments are not registered with CLI11, which
  // would split "[a,b]" and stop after one; they are taken from the arguments that it leaves over.
  void add(Flag flag, bool several, decltype(Entry::take) take) {
    flag.repeatable |= several;
    finish(std::move(flag), {.values_per_use = 1, .several = several, .take = std::move(take)});
  }

  // Adds a flag of the common group that takes one of CHOICES.
  void add_choice(std::string names, std::string value_name, std::string help, std::vector<std::string> choices,
                  std::function<void(const std::string&)> set) {
    Flag flag{.names = std::move(names),
              .value_name = std::move(value_name),
              .help = std::move(help),
              .group = std::string(common_group),
              .kind = ValueKind::choice,
              .choices = std::move(choices)};
    add(std::move(flag), false, [set](const Flag& self, const std::vector<std::string>& values) -> Status {
      MU_TRY(check_choice(self, values.back()));
      set(values.back());
      return {};
    });
  }

  void add_switch(Flag flag, decltype(Entry::take) take) {
    finish(std::move(flag), {.several = true, .take = std::move(take)});
  }

  void finish(Flag flag, Entry entry) {
    flags.push_back(std::move(flag));
    entries.push_back(std::move(entry));
  }

  void add_common_flags();
  void tell_cli11(const std::vector<std::string>& arguments);
  Status parse(std::vector<std::string> arguments);
  Status collect(const std::vector<std::string>& arguments);
  Status collect_positionals();
  void collect_ordered();
  std::string path_of(const Flag& flag, std::string value) const;
  const Flag* find_long(std::string_view long_name) const;
  std::string own_name(std::string argument) const;
  Result<std::string> help(const Command& command) const;

  std::string name;
  std::string summary;
  std::vector<std::string> descriptions;
  std::vector<Example> examples;
  std::vector<std::string> daily;
  std::vector<Flag> flags;
  std::vector<Entry> entries;
  CommonOptions common;
  CLI::App app;
  CLI::Option *short_help = nullptr, *long_help = nullptr, *version = nullptr;
  std::string help_group;  // from --help=GROUP
  bool prepared = false;
  enum class Wanted : u8 { run, short_help, help, version } wanted = Wanted::run;
};

void Command::State::add_common_flags() {
  if (prepared) return;
  prepared = true;
  const auto plain = [](std::string names, std::string help) {
    return Flag{
        .names = std::move(names), .value_name = {}, .help = std::move(help), .group = std::string(common_group)};
  };
  add_switch(plain("-q,--quiet", "Print errors only"), [this](const Flag&, const auto&) -> Status {
    common.quiet = true;
    return {};
  });
  Flag verbose = plain("-v,--verbose", "More detail on standard error; repeat for even more");
  verbose.repeatable = true;
  add_switch(std::move(verbose), [this](const Flag&, const auto& values) -> Status {
    common.verbosity = static_cast<int>(std::min<std::size_t>(values.size(), 9));
    return {};
  });
  add_choice("--color", "WHEN", "Colours", {"auto", "always", "never"},
             [this](const std::string& value) { common.color = when(value); });
  add_choice("--progress", "WHEN", "Show progress on standard error", {"auto", "always", "never"},
             [this](const std::string& value) { common.progress = when(value); });
  add_choice("--errors", "FORM", "Print errors as text, or as one JSON object per line", {"text", "json"},
             [this](const std::string& value) { common.json_errors = value == "json"; });
  // The constructor tells CLI11 about these two; they are added for the help, the man page and the completions.
  finish(plain("-h,--help", "Print the most used options (-h), all options (--help) or one group (--help=GROUP)"), {});
  finish(plain("--version", "Print the version"), {});
}

const Flag* Command::State::find_long(std::string_view long_name) const {
  for (const Flag& flag : flags) {
    if (!flag.is_positional() && flag.long_name() == long_name) return &flag;
  }
  return nullptr;
}

// Adds the flags that the arguments may match. Adding all of them takes longer than everything else in a short run.
void Command::State::tell_cli11(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < flags.size(); ++i) {
    Entry& entry = entries[i];
    if (flags[i].is_positional() || entry.take == nullptr || !is_mentioned(flags[i].names, arguments)) continue;
    if (entry.values_per_use == 0) {
      entry.option = app.add_flag(flags[i].names)->disable_flag_override();
    } else {
      entry.option = app.add_option(flags[i].names, [](const CLI::results_t&) { return true; });
      entry.option->expected(static_cast<int>(entry.values_per_use))->allow_extra_args(false);
    }
    if (entry.several) {
      entry.option->take_all();
    } else {
      entry.option->take_last();
    }
  }
}

// Returns the path that a value stands for if it names a model.
std::string Command::State::path_of(const Flag& flag, std::string value) const {
  const bool is_input = flag.kind == ValueKind::file || flag.kind == ValueKind::directory;
  if (!is_input || flag.long_name() == "--output" || find_long("--no-cache") == nullptr) return value;
  const bool reads_manifests = flag.is_positional() && (name == "gguf-dump" || name == "verify");
  return operand_path(value, reads_manifests ? Manifests::read : Manifests::to_model);
}

// Fills Entry::values with CLI11's results and the arguments left over.
Status Command::State::collect(const std::vector<std::string>& arguments) {
  const bool has_surplus = std::ssize(app.remaining()) > std::ranges::count_if(flags, &Flag::is_positional);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].option == nullptr) continue;
    for (const std::string& value : entries[i].option->results()) {
      MU_TRY(check_pair(flags[i], value, has_surplus ? arguments : std::vector<std::string>{}));
      entries[i].values.push_back(path_of(flags[i], with_slashes(flags[i], value)));
    }
  }
  // CLI11 checks the number of values only if no other option follows.
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].values_per_use > 1 && entries[i].values.size() % entries[i].values_per_use != 0) {
      return usage_error(fmt::format("{} needs {}", flags[i].long_name(), flags[i].value_name));
    }
  }
  return collect_positionals();
}

Status Command::State::collect_positionals() {
  bool only_paths = false;
  std::vector<std::string> positionals;
  std::optional<std::size_t> taken;  // how many of them, if there are too many
  for (const std::string& argument : app.remaining()) {
    if (argument == "--" && !only_paths) {
      only_paths = true;
      continue;
    }
    if (!only_paths && argument.size() > 1 && argument[0] == '-') return usage_error(unknown_option(argument, flags));
    std::size_t i = 0;
    while (i < flags.size() && !(flags[i].is_positional() && (entries[i].several || entries[i].values.empty()))) ++i;
    positionals.push_back(argument);
    if (i == flags.size() && !taken) taken = positionals.size() - 1;
    if (taken) continue;
    if (argument.empty()) return usage_error("a file name is empty");
    if (is_address(argument)) {
      entries[i].values.push_back(argument);
      continue;
    }
    for (std::string& meant : os::expand_wildcards(argument)) {
      entries[i].values.push_back(path_of(flags[i], with_slashes(flags[i], std::move(meant))));
    }
  }
  if (!taken) return {};
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i].long_name() == "--output") outputs = entries[i].values;
  }
  return usage_error(unexpected_argument({name, positionals, *taken, outputs}, flags));
}

// Uses CLI11's list of options in command-line order, which has an entry per value or flag.
void Command::State::collect_ordered() {
  std::vector<std::size_t> taken(entries.size(), 0);
  for (const CLI::Option* option : app.parse_order()) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Entry& entry = entries[i];
      if (entry.option != option || entry.ordered == nullptr) continue;
      std::vector<Occurrence>& target = *entry.ordered;
      const std::size_t number = taken[i]++;
      const std::size_t count = std::max<std::size_t>(entry.values_per_use, 1);
      if (number % count == 0) target.push_back({std::string(flags[i].long_name()), {}});
      if (entry.values_per_use == 0) continue;
      target.back().values.push_back(path_of(flags[i], with_slashes(flags[i], option->results()[number])));
    }
  }
}

// Replaces a name that another tool has for one of the flags.
std::string Command::State::own_name(std::string argument) const {
  const std::size_t end = std::min(argument.find('='), argument.size());
  const std::string_view given = std::string_view(argument).substr(0, end);
  for (const Flag& flag : flags) {
    bool is_meant = false;
    for_each_name(flag.synonyms, [&](std::string_view each) { is_meant = is_meant || each == given; });
    if (is_meant) return std::string(flag.long_name()) + argument.substr(end);
  }
  return argument;
}

Status Command::State::parse(std::vector<std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (arguments[i].starts_with("--")) arguments[i] = own_name(std::move(arguments[i]));
  }
  // CLI11 takes the next argument as the value of "--flag=", so pass the empty value as a separate argument.
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    std::string& argument = arguments[i];
    if (argument.starts_with("--help=")) {
      help_group = argument.substr(std::string_view("--help=").size());
      argument = "--help";
    }
    if (!argument.starts_with("--") || !argument.ends_with('=') || argument.find('=') + 1 != argument.size()) continue;
    const Flag* flag = find_long(std::string_view(argument).substr(0, argument.size() - 1));
    if (flag == nullptr || flag->value_name.empty()) continue;
    argument.pop_back();
    arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::string{});
  }
  tell_cli11(arguments);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view text = error.what();
    const std::string_view option = text.substr(0, text.find_first_of(": "));
    return usage_error(fmt::format("option {}{} {}", option.starts_with('-') ? "" : "--", option,
                                   text.find("flag override") == text.npos ? "needs a value" : "takes no value"));
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  }
  wanted = version->count() > 0      ? Wanted::version
           : long_help->count() > 0  ? Wanted::help
           : short_help->count() > 0 ? Wanted::short_help
                                     : Wanted::run;
  if (wanted != Wanted::run) return {};
  // Apply --errors first, so that it also holds for errors in the other flags.
  const Status collected = collect(arguments);
  const auto take = [this](std::size_t i) -> Status {
    return entries[i].values.empty() ? Status{} : entries[i].take(flags[i], entries[i].values);
  };
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i].names == "--errors") MU_TRY(take(i));
  }
  MU_TRY(collected);
  collect_ordered();
  for (std::size_t i = 0; i < flags.size(); ++i) MU_TRY(take(i));
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (!entries[i].values.empty() || !flags[i].is_positional() || flags[i].may_lack) continue;
    std::string_view what = flags[i].names;
    if (what.ends_with("…")) what.remove_suffix(std::string_view("…").size());
    return usage_error(fmt::format("{} is missing", what));
  }
  return {};
}

Result<std::string> Command::State::help(const Command& command) const {
  const std::size_t width = terminal_width(80);
  const bool color = use_color(common);
  if (wanted == Wanted::short_help) return short_help_text(command, width, color);
  if (help_group.empty()) {
    start_pager(common.pager);
    return help_text(command, width, color);
  }
  if (auto text = group_help_text(command, help_group, width, color)) return *std::move(text);
  return usage_error(
      fmt::format("--help={} is not a group of options; the groups are {}", help_group, joined(group_names(command))));
}

Command::Command(std::string name, std::string summary)
    : state_(std::make_unique<State>(std::move(name), std::move(summary))) {}
Command::Command(Command&&) noexcept = default;
Command& Command::operator=(Command&&) noexcept = default;
Command::~Command() = default;

void Command::add(Flag flag, bool& target) {
  state_->add_switch(std::move(flag), [&target](const Flag&, const auto&) -> Status {
    target = true;
    return {};
  });
}

void Command::add(Flag flag, std::string& target) {
  state_->add(std::move(flag), false, set_text(target));
}

void Command::add(Flag flag, std::optional<std::string>& target) {
  state_->add(std::move(flag), false, set_text(target));
}

void Command::add(Flag flag, std::vector<std::string>& target) {
  state_->add(std::move(flag), true, [&target](const Flag& self, const auto& values) -> Status {
    for (const std::string& value : values) MU_TRY(check_choice(self, value));
    target = values;
    return {};
  });
}

void Command::add(Flag flag, std::optional<u64>& target) {
  state_->add(std::move(flag), false, set_number(target, parse_number));
}

void Command::add_size(Flag flag, std::optional<u64>& target) {
  const auto parse = [](std::string_view option, std::string_view text) { return parse_size(option, text, 1000); };
  state_->add(std::move(flag), false, set_number(target, parse));
}

void Command::add_ordered(Flag flag, std::size_t count, std::vector<Occurrence>& target) {
  flag.repeatable = true;
  const auto take = [](const Flag&, const std::vector<std::string>&) -> Status { return {}; };
  state_->finish(std::move(flag), {.values_per_use = count, .several = true, .take = take, .ordered = &target});
}

void Command::add_tokens(Flag flag, std::optional<u64>& target) {
  state_->add(std::move(flag), false, set_number(target, parse_tokens));
}

void Command::add_memory(Flag flag, std::optional<u64>& target) {
  state_->add(std::move(flag), false, set_number(target, parse_memory));
}

void Command::example(std::string command, std::string explanation) {
  state_->examples.push_back({std::move(command), std::move(explanation)});
}
void Command::description(std::string text) {
  state_->descriptions.push_back(std::move(text));
}

void Command::daily(std::vector<std::string> long_names) {
  for (const std::string& name : long_names) {
    if (state_->find_long(name) == nullptr) throw std::logic_error("no flag " + name);
  }
  state_->daily = std::move(long_names);
}

void Command::add_remote_flags() {
  constexpr const char* group = "Addresses";
  add({"--allow-private-redirect", {}, "Allow redirects from a public server to a private address", group},
      remote_settings().allow_private_redirect);
  add({"--no-cache", {}, "Do not read or write the header cache (XDG_CACHE_HOME/modelutils)", group},
      remote_settings().no_cache);
  Flag timeout{.names = "--timeout",
               .value_name = "SECONDS",
               .help = "Abort a request after SECONDS without data (default: HF_HUB_DOWNLOAD_TIMEOUT, or 10)",
               .group = group,
               .kind = ValueKind::number};
  state_->add(std::move(timeout), false, [](const Flag& self, const std::vector<std::string>& values) -> Status {
    MU_ASSIGN(const u64 seconds, parse_number(self.long_name(), values.back()));
    if (seconds < 1 || seconds > most_silence) {
      return usage_error(fmt::format("{} must be 1 to {}, not {}", self.long_name(), most_silence, seconds));
    }
    remote_settings().timeout = seconds;
    return {};
  });
}

void Command::add_pager() {
  state_->add_choice(
      "--pager", "WHEN", "On a terminal, page output that is longer than the screen (MODELUTILS_PAGER, PAGER, less)",
      {"auto", "always", "never"}, [this](const std::string& value) { state_->common.pager = when(value); });
}

void Command::add_common_flags() {
  state_->add_common_flags();
}

std::optional<int> Command::parse(int argc, char** argv) {
  add_common_flags();
  hf::read_hub_listings();
  std::vector<std::string> given(argv + std::min(argc, 1), argv + argc);
  if (state_->find_long("--no-cache") != nullptr) {  // the tool reads models at addresses
    for (std::string& argument : given) argument = hide_query(argument);
  }
  const Status status = state_->parse(std::move(given));
  if (!status) return Messages(*this).error(status.error());
  show_log(state_->name, state_->common);
  show_output_remarks(*this);
  show_network_notes(*this);
  if (state_->wanted == State::Wanted::run) return std::nullopt;
  if (state_->wanted == State::Wanted::version) return print_version(state_->name, state_->common);
  const Result<std::string> help = state_->help(*this);
  if (!help) return Messages(*this).error(help.error());
  TextOutput out;
  out << *help;
  if (const Status written = out.flush(); !written) return Messages(*this).error(written.error());
  return exit_ok;
}

int print_version(const std::string& name, const CommonOptions& options) {
  TextOutput out;
  out << name << " (modelutils) " MODELUTILS_VERSION "\n";
  const Status written = out.flush();
  return written ? exit_ok : Messages(name, options).error(written.error());
}

const std::string& Command::name() const {
  return state_->name;
}
const std::string& Command::summary() const {
  return state_->summary;
}
const std::vector<std::string>& Command::descriptions() const {
  return state_->descriptions;
}
const std::vector<Example>& Command::examples() const {
  return state_->examples;
}
const std::vector<std::string>& Command::daily_flags() const {
  return state_->daily;
}
const CommonOptions& Command::common() const {
  return state_->common;
}
const std::vector<Flag>& Command::flags() const {
  return state_->flags;
}

}  // namespace modelutils::cli
