#include "cli/gguf2bump_options.h"

namespace modelutils::cli {

Command gguf2bump_command(Gguf2bumpArguments& arguments) {
  Command command("gguf2bump", "Convert a GGUF model to weights for C-Kernel-Engine");
  GgufToBumpOptions& convert = arguments.convert;
  command.description(
      "Writes BUMPWGT3 weights and config.json or, with --bump-version 5, the four files that the engine's current "
      "versions load. Quantised blocks are copied; where those versions have no kernel for a type, it is replaced by "
      "one that holds the same values. A model with tensors that the format cannot hold is refused before anything is "
      "written, with a list of them; --drop accepts the loss. All files appear together, complete, or not at all.");
  command.add({.names = "MODEL.gguf",
               .help = "The model, or any part of a split model",
               .kind = ValueKind::file,
               .file_patterns = {"*.gguf"}},
              convert.input);
  command.add(
      {.names = "-o,--output",
       .value_name = "WEIGHTS.bump",
       .help = "Output file, for BUMPWGT5 also a directory (DIR/weights.bump); - writes to standard output (the "
               "model is then read twice)",
       .kind = ValueKind::output_file,
       .file_patterns = {"*.bump"},
       .in_usage = true},
      convert.output);
  command.add({.names = "--bump-version",
               .value_name = "N",
               .help = "Version of the BUMPWGT format, 3 or 5 (default: 3); 5 adds a manifest and a map, and supports "
                       "llama, qwen2, qwen3 and gemma3",
               .kind = ValueKind::choice,
               .choices = {"3", "5"}},
              arguments.bump_version);
  command.add({.names = "--config",
               .value_name = "FILE",
               .help = "Where to write config.json (default: next to the weights)",
               .kind = ValueKind::output_file},
              convert.config);
  command.add({.names = "--no-config", .help = "Write only the weights"}, convert.no_config);
  command.add(
      {.names = "--manifest",
       .value_name = "FILE",
       .help = "Also write the dimensions, offset and SHA-256 of every entry, for verify --check; for BUMPWGT5, "
               "where to write the engine's manifest (default: weights_manifest.json next to the weights)",
       .kind = ValueKind::output_file},
      convert.manifest);
  command.add_tokens({.names = "--context",
                      .value_name = "N",
                      .help = "Context length in tokens, such as 8192 or 32K (default: the model's own)",
                      .kind = ValueKind::number},
                     convert.request.context);
  command.add({.names = "--align-head",
               .value_name = "N",
               .help = "Pad every head to a multiple of N elements",
               .kind = ValueKind::number},
              arguments.align_head);
  command.add({.names = "--dtype-codes",
               .value_name = "NUMBERING",
               .help = "Codes of the element types (default original; C-Kernel-Engine has used renumbered, which "
                       "covers more types, since January 2026)",
               .kind = ValueKind::choice,
               .choices = {"original", "renumbered"}},
              arguments.dtype_codes);
  command.add({.names = "--repack",
               .value_name = "LAYOUT",
               .help = "BUMPWGT3: write llama's Q and K and F32 wo in the layout that the only remaining reader in the "
                       "engine expects (default: the layout of the engine's converter)",
               .kind = ValueKind::choice,
               .choices = {"split-halves"}},
              arguments.repack);
  command.add({.names = "--drop",
               .value_name = "GLOB",
               .help = "Accept the loss of matching tensors that the output cannot hold; may be repeated",
               .kind = ValueKind::tensor},
              convert.request.drop);
  command.add({.names = "--follow-links", .help = "Accept symbolic links that lead out of the model's directory"},
              arguments.follow_links);
  command.add({.names = "--force", .help = "Replace existing outputs"}, convert.force);
  command.add({.names = "--dry-run", .help = "Show the plan, the sizes and any refusals; write nothing"},
              convert.dry_run);
  command.add({.names = "--report",
               .value_name = "FORMAT",
               .help = "Print a report to standard output (standard error with -o -)",
               .kind = ValueKind::choice,
               .choices = {"json"}},
              arguments.report);
  command.example("gguf2bump model.gguf -o weights.bump", "Write weights.bump and config.json");
  command.example("gguf2bump model.gguf --bump-version 5 -o engine/", "Write what C-Kernel-Engine v8 loads");
  command.example("gguf2bump model.gguf --dry-run", "Show the plan and the size");
  command.example("gguf2bump model.gguf -o weights.bump --context 8192", "Use smaller position tables");
  command.example("gguf2bump model.gguf -o - | ssh host 'cat > weights.bump'", "Convert straight into a pipe");
  command.add_remote_flags();
  command.daily({"--output", "--bump-version", "--context", "--drop", "--dry-run", "--force", "--report"});
  return command;
}

}  // namespace modelutils::cli
