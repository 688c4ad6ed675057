#include "cli/mlx2gguf_options.h"

namespace modelutils::cli {

Command mlx2gguf_command(Mlx2ggufArguments& arguments) {
  Command command("mlx2gguf", "Convert an MLX or Hugging Face model directory, or an image model, to a GGUF file");
  to_gguf::MlxToGgufOptions& convert = arguments.convert;
  command.description(
      "Quantised blocks are repacked bit for bit if a GGUF block type can hold them; every tensor that cannot be "
      "converted exactly is reported with its measured error. The output is complete: hyper-parameters, tokenizer and "
      "chat template. It is written to a temporary file, checked, and only then renamed.");
  command.add({.names = "MODEL_DIR",
               .help = "Directory of a model (config.json and safetensors files) or of an adapter; of an image "
                       "model, its file, index or folder of diffusers; - reads a safetensors file of an image model "
                       "from standard input",
               .kind = ValueKind::file,
               .file_patterns = {"*.safetensors"}},
              convert.directory);
  command.add({.names = "-o,--output",
               .value_name = "OUT.gguf",
               .help = "Output file; - writes to standard output",
               .kind = ValueKind::output_file,
               .file_patterns = {"*.gguf"},
               .in_usage = true},
              convert.output);
  command.add({.names = "--fallback",
               .value_name = "TYPE",
               .help = "Type for tensors that no block type holds exactly (default q8_0; of image models f16)",
               .kind = ValueKind::choice,
               .choices = {"q8_0", "f16", "bf16", "f32"}},
              arguments.fallback);
  command.add({.names = "--exact", .help = "Fail if any tensor cannot be converted exactly"}, convert.repack.exact);
  command.add({.names = "--compat", .help = "Avoid types that older runtimes do not support (MXFP4, NVFP4)"},
              convert.repack.compat);
  add_type_flags(command, arguments.types);
  command.add({.names = "--base",
               .value_name = "MODEL",
               .help = "For an adapter: its base model, a directory (config.json is enough) or a GGUF",
               .kind = ValueKind::file},
              arguments.base);
  command.add({.names = "--task",
               .value_name = "NAME",
               .help = "Write the adapter for this task, of a model that has one for each (Jina v3)"},
              arguments.task);
  add_image_flags(command, convert);
  add_lora_flag(command, arguments.adapters);
  command.add({.names = "--pre", .value_name = "NAME", .help = "Pre-tokenizer, by llama.cpp's name for it"},
              convert.pre);
  command.add({.names = "--pre-force",
               .value_name = "NAME",
               .help = "Pre-tokenizer by any name, even one unknown to llama.cpp"},
              convert.pre_force);
  command.add(
      {.names = "--name", .value_name = "TEXT", .help = "Value of general.name (default: from the directory's name)"},
      convert.name);
  command.add(
      {.names = "--mtp",
       .value_name = "WHAT",
       .help = "What to do with multi-token prediction (MTP) blocks; 'only' writes a separate file for drafting "
               "(default: keep if llama.cpp can draft with them, else drop)",
       .kind = ValueKind::choice,
       .choices = {"keep", "only", "drop"}},
      arguments.mtp);
  command.add(
      {.names = "--mmproj",
       .help = "Write the projector (vision and audio towers) that llama.cpp reads next to the model; --type f32, "
               "f16, bf16 or q8_0 (default: every value stays exact)"},
      convert.projector);
  command.add({.names = "--with-mmproj",
               .value_name = "FILE",
               .help = "Also write the projector, to this file",
               .kind = ValueKind::output_file,
               .file_patterns = {"*.gguf"}},
              convert.with_projector);
  command.add({.names = "--rerank",
               .help = "Convert a Qwen3-Reranker: the rows of 'yes' and 'no' become its scores (default: if README.md "
                       "or the folder has that name)"},
              arguments.rerank);
  command.add({.names = "--no-rerank", .help = "Convert it as a language model"}, arguments.no_rerank);
  command.add({.names = "--no-vocab", .help = "Leave out the tokenizer"}, convert.no_vocab);
  command.add_size(
      {.names = "--split-max-size",
       .value_name = "SIZE",
       .help =
           "Split into files of at most SIZE bytes of tensor data each, and list them; K, M and G are powers of 1000",
       .kind = ValueKind::size},
      convert.split_max_size);
  command.add({.names = "--follow-links", .help = "Accept symbolic links that lead out of the directory"},
              arguments.follow_links);
  command.add({"--ignore-index", {}, "Use the weight files that are present and ignore their index"},
              arguments.convert.ignore_index);
  command.add({.names = "--force", .help = "Replace an existing output"}, convert.force);
  command.add({.names = "--dry-run", .help = "Plan and check, but write nothing"}, convert.dry_run);
  command.add({.names = "--report",
               .value_name = "FORMAT",
               .help = "Print a report to standard output (standard error with -o -)",
               .kind = ValueKind::choice,
               .choices = {"json"}},
              arguments.report);
  command.example("mlx2gguf Llama-3.2-1B-Instruct-4bit -o llama.gguf", "Convert a model");
  command.example("mlx2gguf model-6bit -o m.gguf --fallback f16",
                  "Keep more precision if there is no exact block type");
  command.example("mlx2gguf model -o m.gguf --type Q4_K_M", "Quantise while converting, as gguf-quantize does");
  command.example("mlx2gguf flux1-dev.safetensors -o flux1-dev.gguf", "Convert an image model for ComfyUI-GGUF");
  command.example("mlx2gguf gemma-3-4b-it --mmproj -o mmproj.gguf", "Write the projector of a model that sees images");
  command.example("mlx2gguf my-lora --base Llama-3.2-1B -o lora.gguf", "Convert a PEFT or mlx-lm adapter");
  command.example("mlx2gguf Llama-3.2-1B --lora my-lora -o merged.gguf", "Merge the adapter");
  command.example("mlx2gguf model -o m.gguf --dry-run", "Show what each tensor would become");
  command.add_remote_flags();
  command.daily({"--output", "--type", "--fallback", "--exact", "--lora", "--dry-run", "--force", "--report"});
  return command;
}

}  // namespace modelutils::cli
