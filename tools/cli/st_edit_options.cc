#include "cli/st_edit_options.h"

namespace modelutils::cli {

namespace {

using to_safetensors::StAction;
using to_safetensors::StActionInfo;

constexpr std::string_view st_operations_group = "Operations, in the order given";

ValueKind st_kind_of(StAction action) {
  switch (action) {
    case StAction::keep:
    case StAction::drop: return ValueKind::tensor;
    case StAction::lora: return ValueKind::directory;
    default: return ValueKind::text;
  }
}

void add_st_operations(Command& command, std::vector<Occurrence>& target) {
  for (const StActionInfo& info : to_safetensors::st_actions()) {
    Flag flag{.names = "--" + std::string(info.name),
              .value_name = std::string(info.operand),
              .help = std::string(info.help),
              .group = std::string(st_operations_group),
              .kind = st_kind_of(info.action),
              .synonyms = std::string(info.synonyms)};
    command.add_ordered(std::move(flag), info.operand.empty() ? 0 : 1, target);
  }
}

void add_layout(Command& command, to_safetensors::StEditOptions& edit) {
  command.add_size({.names = "--max-shard-size",
                    .value_name = "SIZE",
                    .help = "Divide the tensors among files of at most SIZE bytes of tensors each, as huggingface_hub "
                            "does; K, M and G are powers of 1000",
                    .group = "Layout",
                    .kind = ValueKind::size,
                    .synonyms = "--shard-size|--split-max-size"},
                   edit.max_shard_size);
  command.add({.names = "--single", .help = "Write one file", .group = "Layout"}, edit.single);
  command.add({.names = "--weights-only", .help = "Leave out the files beside the weights", .group = "Layout"},
              edit.weights_only);
  command.add_size({.names = "--reserve",
                    .value_name = "BYTES",
                    .help = "Reserve space in every header for later edits with --in-place",
                    .group = "Layout",
                    .kind = ValueKind::size},
                   edit.reserve);
}

void add_all(Command& command, StEditArguments& arguments) {
  to_safetensors::StEditOptions& edit = arguments.edit;
  command.add({.names = "-o,--output",
               .value_name = "OUT",
               .help = "Output: one file if it ends in .safetensors, otherwise a directory; - writes one file to "
                       "standard output",
               .kind = ValueKind::output_file,
               .in_usage = true},
              edit.output);
  add_st_operations(command, arguments.operations);
  add_layout(command, edit);
  command.add({.names = "--fix-index",
               .help = "Rebuild the index of the directory SOURCE from its files, in place",
               .group = "Layout"},
              arguments.fix_index);
  command.add({.names = "--in-place",
               .help = "Make --set and --unset in SOURCE itself; only headers are written, protected by a journal"},
              arguments.in_place);
  command.add({.names = "--recover", .help = "Repair files after an interrupted in-place edit"}, arguments.recover);
  command.add({.names = "--journal",
               .value_name = "FILE",
               .help = "With --recover: the journal of that edit, if it is not next to the file",
               .kind = ValueKind::file,
               .file_patterns = {"*.edit-journal"}},
              arguments.journal);
  command.add({.names = "--ignore-index", .help = "Open the directory as if it had no index"}, edit.ignore_index);
  command.add({.names = "--follow-links", .help = "Accept symbolic links that lead out of the model's directory"},
              arguments.follow_links);
  command.add({.names = "--force",
               .help = "Replace an existing output: of a model's directory the weights, the index and all shards; and "
                       "allow cuts of experts that change the others' weights"},
              edit.force);
  command.add({.names = "--dry-run", .help = "Plan and check, but write nothing"}, edit.dry_run);
  command.add({.names = "--json", .help = "Print a report to standard output as JSON"}, arguments.json);
  command.add({.names = "--report",
               .value_name = "FORMAT",
               .help = "The same, under the name that other converters have for it",
               .kind = ValueKind::choice,
               .choices = {"json"}},
              arguments.report);
  command.add_remote_flags();
}

}  // namespace

void StEditArguments::settle() {
  if (follow_links) edit.links = OutsideLinks::follow;
  for (const Occurrence& each : operations) {
    for (const StActionInfo& info : to_safetensors::st_actions()) {
      if ("--" + std::string(info.name) != each.flag) continue;
      edit.operations.push_back({info.action, each.values.empty() ? std::string() : each.values.front()});
    }
  }
}

Command st_edit_command(StEditArguments& arguments) {
  Command command("st-edit", "Change safetensors models: shards, index, types, names, layers");
  command.description(
      "Bytes that do not change are copied, or shared with the source if the file system can do that. Without a layout "
      "option, the files keep their names and their tensors. Files beside the weights are copied; config.json changes "
      "only where an operation requires it. Casts round once, to the nearest value, ties to even; a value that the new "
      "type cannot hold is an error. A PyTorch checkpoint is converted without running it (pt2st is this tool under "
      "another name).");
  command.add({.names = "SOURCE",
               .help = "Safetensors file, index or directory, PyTorch checkpoint, or an address of one",
               .kind = ValueKind::file,
               .file_patterns = {"*.safetensors", "*.json", "*.bin", "*.pt", "*.pth", "*.ckpt"}},
              arguments.edit.input);
  add_all(command, arguments);
  command.example("st-edit model/ --single -o model.safetensors", "Merge all shards into one file");
  command.example("st-edit model/ --max-shard-size 2G -o smaller-shards", "Divide a model among smaller files");
  command.example("st-edit model/ --dtype bf16 -o model-bf16", "Cast a model");
  command.example("st-edit model/ --fix-index", "Repair an index that does not match its shards");
  command.example("st-edit model/ --dequantize bf16 --lora adapter/=0.5 -o merged",
                  "Merge a LoRA adapter at half its strength");
  command.example("st-edit model/ --drop-layers 1 -o shorter", "Leave out a layer and renumber the rest");
  command.daily({"--output", "--single", "--max-shard-size", "--dtype", "--keep", "--rename", "--dry-run", "--force"});
  return command;
}

Command pt2st_command(StEditArguments& arguments) {
  Command command("pt2st", "Convert a PyTorch checkpoint to safetensors without running it");
  arguments.edit.is_pt2st = true;
  command.description(
      "A checkpoint is a pickle, which is a program. It is never run: only the instructions that build tensors are "
      "interpreted, and a file with any others is refused with the name of the function that it would have called. "
      "Tensors are copied bit for bit; one with two names is written once. From a directory, the configuration and the "
      "tokenizer are copied, too. This is st-edit under another name: all its options work.");
  command.add({.names = "CHECKPOINT",
               .help = "Checkpoint (.bin, .pt, .pth, .ckpt), its index, or a directory with pytorch_model*.bin",
               .kind = ValueKind::file,
               .file_patterns = {"*.bin", "*.pt", "*.pth", "*.ckpt", "*.json"}},
              arguments.edit.input);
  add_all(command, arguments);
  command.example("pt2st pytorch_model.bin -o model.safetensors", "Convert one file");
  command.example("pt2st old-model/ -o new-model", "Convert a whole directory");
  command.daily({"--output", "--max-shard-size", "--dry-run", "--force"});
  return command;
}

}  // namespace modelutils::cli
