#include "cli/gguf2mlx_options.h"

namespace modelutils::cli {

void Gguf2mlxArguments::settle() {
  const auto type = [](const std::string& name) {
    return name.empty() || name == "auto" ? std::nullopt : type_from_name(name);
  };
  if (!fallback.empty()) convert.forms.fallback = fallback_form(fallback);
  convert.forms.scales = type(scales);
  convert.forms.dequantize = type(dequantize);
  convert.forms.dtype = type(dtype);
  convert.shard_size = shard_size.value_or(to_directory::default_shard_size);
  if (follow_links) convert.links = OutsideLinks::follow;
}

Command gguf2mlx_command(Gguf2mlxArguments& arguments) {
  Command command("gguf2mlx", "Convert a GGUF file to a model directory that MLX or transformers loads");
  to_directory::GgufToMlxOptions& convert = arguments.convert;
  command.description(
      "Quantised blocks are copied bit for bit if MLX has a form for them; their scales are exact if 16 bits can hold "
      "them. Every tensor that is not exact is reported with its error. With --dequantize, the directory holds "
      "unquantised weights under Hugging Face's names. It is built under a temporary name, checked, and only then "
      "renamed.");
  command.add({.names = "MODEL.gguf",
               .help = "GGUF file, or any part of a split model",
               .kind = ValueKind::file,
               .file_patterns = {"*.gguf"}},
              convert.input);
  command.add({.names = "-o,--output",
               .value_name = "DIR",
               .help = "Output directory; for an image or video model also FILE.safetensors",
               .kind = ValueKind::directory,
               .in_usage = true},
              convert.output);
  command.add({.names = "--mmproj",
               .value_name = "FILE",
               .help = "The model's projector (vision and audio towers): write the directory that mlx-vlm loads",
               .kind = ValueKind::file,
               .file_patterns = {"*.gguf"}},
              convert.projector);
  command.add({.names = "--exact",
               .help = "Fail if any tensor cannot be converted exactly; scales become F32 if 16 bits cannot hold them"},
              convert.forms.exact);
  command.add({.names = "--fallback",
               .value_name = "FORM",
               .help = "Form for tensors without an exact one (default: 8 bits in groups of 32 with searched scales)",
               .kind = ValueKind::choice,
               .choices = fallback_names()},
              arguments.fallback);
  command.add({.names = "--scales",
               .value_name = "TYPE",
               .help = "Type of scales (default auto: 16 bits, or F32 if the error would exceed 1 %)",
               .kind = ValueKind::choice,
               .choices = {"auto", "f16", "bf16", "f32"}},
              arguments.scales);
  command.add({.names = "--dequantize",
               .value_name = "TYPE",
               .help = "Write unquantised weights under Hugging Face's names",
               .kind = ValueKind::choice,
               .choices = {"bf16", "f16", "f32"}},
              arguments.dequantize);
  command.add({.names = "--dtype",
               .value_name = "TYPE",
               .help = "Type for unquantised tensors (default: the smallest that holds their values)",
               .kind = ValueKind::choice,
               .choices = {"bf16", "f16", "f32"}},
              arguments.dtype);
  command.add({.names = "--model-type",
               .value_name = "NAME",
               .help = "model_type for config.json, if several share the architecture (mistral)"},
              convert.model_type);
  command.add_size(
      {.names = "--shard-size",
       .value_name = "SIZE",
       .help = "Start a new file after this many bytes of tensors (default 5G; K, M and G are powers of 1000)",
       .kind = ValueKind::size},
      arguments.shard_size);
  command.add({.names = "--pre", .value_name = "NAME", .help = "Pre-tokenizer, by llama.cpp's name for it"},
              convert.pre);
  command.add({.names = "--no-tokenizer", .help = "Leave out the tokenizer"}, convert.no_tokenizer);
  command.add({.names = "--raw-names",
               .help = "With --dequantize: write only the tensors, under their GGUF names, for any architecture"},
              convert.raw_names);
  command.add({.names = "--base",
               .value_name = "MODEL",
               .help = "Convert a LoRA adapter for this base model: a directory (config.json is enough) or a GGUF"},
              arguments.base);
  command.add({.names = "--adapter",
               .value_name = "FORM",
               .help = "Adapter format (default peft)",
               .kind = ValueKind::choice,
               .choices = {"peft", "mlx"}},
              arguments.adapter);
  command.add({.names = "--follow-links", .help = "Accept symbolic links that lead out of the model's directory"},
              arguments.follow_links);
  command.add({.names = "--force", .help = "Replace an existing directory that holds only what gguf2mlx writes"},
              convert.force);
  command.add({.names = "--dry-run", .help = "Plan and check, but write nothing"}, convert.dry_run);
  command.add({.names = "--report",
               .value_name = "FORMAT",
               .help = "Print a report to standard output",
               .kind = ValueKind::choice,
               .choices = {"json"}},
              arguments.report);
  command.example("gguf2mlx model.gguf -o model-mlx", "Convert a model");
  command.example("gguf2mlx model.gguf -o model-exact --exact --fallback f32", "Convert without loss, even if larger");
  command.example("gguf2mlx model.gguf -o model-bf16 --dequantize bf16", "Write unquantised weights for transformers");
  command.example("gguf2mlx flux.gguf -o flux.safetensors --dequantize bf16", "Write an image model back to one file");
  command.example("gguf2mlx lora.gguf --base Llama-3.2-1B -o my-lora", "Convert an adapter back to PEFT's format");
  command.add_remote_flags();
  command.daily({"--output", "--exact", "--fallback", "--dequantize", "--shard-size", "--dry-run", "--force"});
  return command;
}

}  // namespace modelutils::cli
