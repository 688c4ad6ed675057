#include "cli/ls_options.h"

namespace modelutils::cli {

Command ls_command(LsArguments& arguments) {
  Command command("modelutils ls", "List the models of Ollama, LM Studio, Hugging Face and llama.cpp");
  command.description(
      "Prints a line per model with the name that every tool takes in place of a file: ollama:NAME[:TAG], "
      "lmstudio:PUBLISHER/MODEL[/FILE], hf:ORG/REPO[@REVISION][/FILE], llama.cpp:FILE. Reads headers only, or what the "
      "store itself knows about a model, and writes nothing. Listing does not count as use of a model.");
  command.description(
      "The stores are found by the variables that their programs use: OLLAMA_MODELS, LMSTUDIO_HOME, HF_HUB_CACHE, "
      "HF_HOME, "
      "LLAMA_CACHE, XDG_CACHE_HOME. What another user's permissions protect is skipped with a note.");
  command.add({.names = "STORE|FOLDER…",
               .help = "ollama, lmstudio, hf, llama.cpp, or a folder (default: all stores)",
               .kind = ValueKind::directory,
               .file_patterns = {"ollama", "lmstudio", "hf", "llama.cpp"},
               .may_lack = true},
              arguments.request.places);
  command.add({.names = "--json", .help = "Print JSON (docs/json.md)"}, arguments.json);
  command.add({.names = "--sort",
               .value_name = "KEY",
               .help = "Sort by name (default), size, parameters, or used: the longest unused first",
               .kind = ValueKind::choice,
               .choices = {"name", "size", "parameters", "used"}},
              arguments.sort);
  command.add({.names = "--unused",
               .value_name = "DAYS",
               .help = "List only models that no program has read or written for DAYS days",
               .kind = ValueKind::number},
              arguments.request.unused_days);
  command.add({.names = "--duplicates", .help = "List files with equal contents and what sharing them would save"},
              arguments.duplicates);
  command.add({.names = "--hash",
               .value_name = "xxh3",
               .help = "With --duplicates, read all bytes where no store knows a checksum",
               .kind = ValueKind::choice,
               .choices = {"xxh3"}},
              arguments.hash);
  command.add({.names = "--names", .help = "Print names only, without reading any header"}, arguments.names);
  command.add_pager();
  command.example("modelutils ls", "List the models of all stores");
  command.example("modelutils ls ollama --sort size", "List Ollama's models, the largest first");
  command.example("modelutils ls --unused 90", "List models that nothing has used for 90 days");
  command.example("modelutils ls --duplicates --hash xxh3", "Find equal files and what sharing them would save");
  command.daily({"--json", "--sort", "--unused", "--duplicates", "--hash"});
  return command;
}

}  // namespace modelutils::cli
