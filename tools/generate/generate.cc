// Writes the man pages and shell completions of the tools. Part of the build but not installed, so that the tools do
// not contain text that only packages need.
//
// usage: generate TEMPLATES OUTPUT VERSION DATE TOOL…
//        generate --architectures > docs/architectures.md
//        generate --keys > docs/keys.md
//        generate --names                     for scripts/check-drift, which compares it with llama.cpp
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "architectures_page.h"
#include "cli/all_commands.h"
#include "cli/front_options.h"
#include "completion.h"
#include "keys_page.h"
#include "man_page.h"

namespace {

using namespace modelutils;
namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path);
  file << text << std::flush;
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

struct Folders {
  fs::path templates, output;
  std::string version, date;
  std::vector<std::string> tools;
};

// Completions of "modelutils ls" and "modelutils link", by shell.
struct Parts {
  generate::CommandParts bash, zsh, fish;

  static void add(generate::CommandParts& to, const std::string& command, const std::string& text) {
    to.names.push_back(command.substr(command.find(' ') + 1));
    to.text += "# " + command + ":\n" + text + "\n";
  }
};

template <typename Arguments>
void write_all(cli::Command (*make)(Arguments&), const Folders& folders, Parts& parts) {
  Arguments arguments;
  cli::Command command = make(arguments);
  command.add_common_flags();
  std::string name = command.name();
  const bool is_program = name.find(' ') == std::string::npos;
  std::replace(name.begin(), name.end(), ' ', '-');  // modelutils-ls.1
  using namespace generate;
  write(folders.output / "man" / (name + ".1"), man_page(command, folders.version, folders.date, folders.tools));
  const std::string bash = read(folders.templates / "completion.bash"),
                    zsh = read(folders.templates / "completion.zsh"),
                    fish = read(folders.templates / "completion.fish");
  if (!is_program) {
    Parts::add(parts.bash, command.name(), bash_completion(command, bash));
    Parts::add(parts.zsh, command.name(), zsh_completion(command, zsh));
    Parts::add(parts.fish, command.name(), fish_completion(command, fish));
    return;
  }
  const Parts own = name == "modelutils" ? parts : Parts();
  const fs::path completions = folders.output / "completions";
  write(completions / "bash" / name, bash_completion(command, bash, own.bash));
  write(completions / "zsh" / ("_" + name), zsh_completion(command, zsh, own.zsh));
  write(completions / "fish" / (name + ".fish"), fish_completion(command, fish, own.fish));
}

int run(int argc, char** argv) {
  const Folders folders{argv[1], argv[2], argv[3], argv[4], {argv + 5, argv + argc}};
  Parts parts;
  cli::for_each_command([&](auto make) { write_all(make, folders, parts); });
  write_all(cli::front_command, folders, parts);
  return cli::exit_ok;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--architectures") {
    std::fputs(generate::architectures_page().c_str(), stdout);
    return cli::exit_ok;
  }
  if (argc == 2 && std::string_view(argv[1]) == "--keys") {
    std::fputs(generate::keys_page().c_str(), stdout);
    return cli::exit_ok;
  }
  if (argc == 2 && std::string_view(argv[1]) == "--names") {
    std::fputs(generate::known_names().c_str(), stdout);
    return cli::exit_ok;
  }
  if (argc < 6) return cli::exit_usage;
  return cli::run_tool("generate", argc, argv, run);
}
