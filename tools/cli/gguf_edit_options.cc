#include "cli/gguf_edit_options.h"

namespace modelutils::cli {

namespace {

constexpr std::string_view operations_group = "Operations, in the order given";

ValueKind kind_of(edit::EditAction action) {
  switch (action) {
    case edit::EditAction::set:
    case edit::EditAction::set_from: return ValueKind::known_key;
    case edit::EditAction::delete_keys: return ValueKind::key;
    case edit::EditAction::drop_tensors: return ValueKind::tensor;
    case edit::EditAction::script:
    case edit::EditAction::copy_keys:
    case edit::EditAction::graft_mtp: return ValueKind::file;
    default: return ValueKind::text;
  }
}

void add_operations(Command& command, std::vector<Occurrence>& target) {
  for (const edit::EditActionInfo& info : edit::edit_actions()) {
    Flag flag{.names = "--" + std::string(info.name),
              .value_name = std::string(info.operands),
              .help = std::string(info.help),
              .group = std::string(operations_group),
              .kind = kind_of(info.action),
              .synonyms = std::string(info.synonyms)};
    if (info.action == edit::EditAction::copy_keys || info.action == edit::EditAction::graft_mtp)
      flag.file_patterns = {"*.gguf"};
    command.add_ordered(std::move(flag), info.operand_count(), target);
  }
}

void add_split(Command& command, edit::SplitOptions& split) {
  command.add_size({.names = "--split-max-size",
                    .value_name = "SIZE",
                    .help = "Split into files of at most SIZE bytes of tensor data each; K, M and G are powers of 1000",
                    .kind = ValueKind::size,
                    .synonyms = "--max-shard-size|--shard-size"},
                   split.max_size);
  command.add({.names = "--split-max-tensors",
               .value_name = "N",
               .help = "Split into files of at most N tensors each",
               .kind = ValueKind::number},
              split.max_tensors);
  command.add({.names = "--no-tensor-first-split", .help = "When splitting, write only keys into the first file"},
              split.no_tensor_first);
}

}  // namespace

Command gguf_edit_command(GgufEditArguments& arguments) {
  Command command("gguf-edit", "Change keys, names and layout of a GGUF model");
  edit::EditOptions& edit = arguments.edit;
  command.description(
      "Tensor data is copied or left where it is, never decoded. Give any part of a split model to edit the whole, "
      "which -o writes as one file. An edit that breaks a rule (an id beyond the vocabulary, a missing tensor, another "
      "architecture) is refused; --force does it anyway. With --in-place only the header is written, protected by a "
      "journal next to the file: if the edit is interrupted, gguf-dump and verify say so, and --recover repairs the "
      "file. The new header must fit before the tensor data; -o with --reserve makes room for later edits. Importance "
      "matrices in llama-imatrix's older format (.dat) are converted to GGUF, and GGUF ones to .dat if OUT ends in "
      ".dat.");
  command.add({.names = "MODEL.gguf",
               .help = "GGUF model, or any part of a split model",
               .kind = ValueKind::file,
               .file_patterns = {"*.gguf"}},
              edit.model);
  add_operations(command, arguments.operations);
  add_split(command, edit.split);
  command.add({.names = "-o,--output",
               .value_name = "OUT.gguf",
               .help = "Write the edited model to OUT.gguf; - writes to standard output",
               .kind = ValueKind::output_file,
               .file_patterns = {"*.gguf"},
               .in_usage = true},
              edit.output);
  command.add(
      {.names = "--add-imatrix",
       .value_name = "FILE",
       .help = "MODEL is an importance matrix: add FILE to it, as llama-imatrix adds up its --in-file; may be repeated",
       .kind = ValueKind::file,
       .file_patterns = {"*.gguf", "*.dat"}},
      arguments.importance);
  command.add({.names = "--in-place", .help = "Edit MODEL.gguf itself; only its header is written"}, edit.in_place);
  command.add({.names = "--dry-run", .help = "Print what would change, but write nothing"}, edit.dry_run);
  command.add({.names = "--recover", .help = "Repair a file after an interrupted in-place edit"}, arguments.recover);
  command.add({.names = "--journal",
               .value_name = "FILE",
               .help = "With --recover: the journal of that edit, if it is not next to MODEL.gguf",
               .kind = ValueKind::file,
               .file_patterns = {"*.edit-journal"}},
              arguments.journal);
  command.add_size({.names = "--reserve",
                    .value_name = "BYTES",
                    .help = "Reserve space for later in-place edits (in the key modelutils.reserve); 0 removes it",
                    .kind = ValueKind::size},
                   edit.reserve);
  command.add({.names = "--force",
               .help = "Replace an existing output; allow edits that would be refused; with --in-place, edit even if "
                       "another process has the file open"},
              edit.force);
  command.example("gguf-edit --set-token eos='<|eot_id|>' --in-place model.gguf", "Correct the end-of-text token");
  command.example("gguf-edit --set-from tokenizer.chat_template=template.jinja model.gguf -o fixed.gguf --reserve 64K",
                  "Replace the chat template, with room for more edits");
  command.example("gguf-edit --delete 'general.license*' --set general.author:string=me model.gguf --dry-run",
                  "Show what would change");
  command.example("gguf-edit model-00001-of-00003.gguf -o whole.gguf", "Merge a split model");
  command.example("gguf-edit --split-max-size 2G model.gguf -o part", "Split it: part-00001-of-00003.gguf and so on");
  command.example("gguf-edit imatrix.dat -o imatrix.gguf", "Convert an importance matrix to GGUF");
  command.example("gguf-edit imatrix.gguf --add-imatrix more.dat -o both.gguf", "Add up two importance matrices");
  command.daily({"--set", "--set-from", "--set-token", "--delete", "--output", "--in-place", "--dry-run"});
  return command;
}

std::vector<edit::EditOperation> edit_operations(const std::vector<Occurrence>& given) {
  std::vector<edit::EditOperation> operations;
  for (const Occurrence& each : given) {
    for (const edit::EditActionInfo& info : edit::edit_actions()) {
      if ("--" + std::string(info.name) == each.flag) operations.push_back({info.action, each.values, {}});
    }
  }
  return operations;
}

}  // namespace modelutils::cli
