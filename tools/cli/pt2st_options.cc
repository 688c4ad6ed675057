#include "cli/pt2st_options.h"

namespace modelutils::cli {

void Pt2stArguments::settle() {
  if (shard_size) convert.shard_size = *shard_size;
  if (follow_links) convert.links = OutsideLinks::follow;
}

Command pt2st_command(Pt2stArguments& arguments) {
  Command command("pt2st", "Convert a PyTorch checkpoint to safetensors without running it");
  to_safetensors::CheckpointOptions& convert = arguments.convert;
  command.description(
      "A checkpoint is a pickle, which is a program. It is never run: only the instructions that build tensors are "
      "interpreted, and a file with any others is refused with the name of the function that it would have called. "
      "Tensors are copied bit for bit; one with two names is written once. From a directory, the configuration and the "
      "tokenizer are copied, too.");
  command.add_path({.names = "CHECKPOINT",
                    .help = "Checkpoint (.bin, .pt, .pth, .ckpt), its index, or a directory with pytorch_model*.bin",
                    .kind = ValueKind::file,
                    .file_patterns = {"*.bin", "*.pt", "*.pth", "*.ckpt", "*.json"}},
                   convert.input);
  command.add({.names = "-o,--output",
               .value_name = "FILE.safetensors|DIR",
               .help = "Output file (for a single checkpoint file) or directory",
               .kind = ValueKind::file,
               .in_usage = true},
              convert.output);
  command.add_size(
      {.names = "--shard-size",
       .value_name = "SIZE",
       .help = "Start a new file after this many bytes of tensors (default 5G; K, M and G are powers of 1000)",
       .kind = ValueKind::size},
      arguments.shard_size);
  command.add({.names = "--follow-links", .help = "Accept symbolic links that lead out of the model's directory"},
              arguments.follow_links);
  command.add({.names = "--force", .help = "Replace an existing output"}, convert.force);
  command.add({.names = "--dry-run", .help = "Plan and check, but write nothing"}, convert.dry_run);
  command.add({.names = "--report",
               .value_name = "FORMAT",
               .help = "Print a report to standard output",
               .kind = ValueKind::choice,
               .choices = {"json"}},
              arguments.report);
  command.example("pt2st pytorch_model.bin -o model.safetensors", "Convert one file");
  command.example("pt2st old-model/ -o new-model", "Convert a whole directory");
  command.add_remote_flags();
  command.daily({"--output", "--shard-size", "--dry-run", "--force"});
  return command;
}

}  // namespace modelutils::cli
