#include "cli/link_options.h"

namespace modelutils::cli {

Command link_command(LinkArguments& arguments) {
  Command command("modelutils link", "Make a model visible to another program without copying it");
  command.description(
      "Links the files of a model, all parts of a split one, its projector and its adapters, into the folder and under "
      "the names that the program expects. Nothing that exists is replaced; deleting the links undoes it.");
  command.description(
      "For Ollama, the files become blobs and a Modelfile is printed. 'ollama serve' deletes such blobs when it "
      "starts, "
      "unless 'ollama create' has used them before. For llama.cpp, a repository in the layout of Hugging Face's cache "
      "is "
      "made, which 'llama-cli --offline -hf' reads.");
  command.add(
      {.names = "NAME", .help = "A model's name, as 'modelutils ls' prints it, or its path", .kind = ValueKind::file},
      arguments.name);
  command.add({.names = "--to",
               .value_name = "lmstudio|llama.cpp|ollama|DIR",
               .help = "The program, or a folder, that shall see the model",
               .kind = ValueKind::directory,
               .file_patterns = {"lmstudio", "llama.cpp", "ollama"},
               .in_usage = true},
              arguments.to);
  command.add({.names = "--how",
               .value_name = "KIND",
               .help = "reflink, hard or symlink (default: the first of them that works)",
               .kind = ValueKind::choice,
               .choices = {"reflink", "hard", "symlink"}},
              arguments.how);
  command.add({.names = "--as",
               .value_name = "PUBLISHER/MODEL",
               .help = "Name it so in LM Studio or llama.cpp (default: from its present name)"},
              arguments.as);
  command.add({.names = "--dry-run", .help = "Print what would be linked, but create nothing"}, arguments.dry_run);
  command.example("modelutils link ollama:llama3.2 --to lmstudio", "Show LM Studio a model of Ollama");
  command.example("modelutils link hf:ORG/REPO/model.gguf --to ollama >Modelfile", "Make its blob and a Modelfile");
  command.example("modelutils link lmstudio:ORG/REPO --to llama.cpp --dry-run", "Print what would be linked");
  command.daily({"--to", "--how", "--as", "--dry-run"});
  return command;
}

}  // namespace modelutils::cli
