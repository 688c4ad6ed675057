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
      "Quantised blocks are carried bit for bit where MLX has a form for them: codes are copied, scales kept as far as "
      "16 bits hold them. What is not exact is reported tensor by tensor, with its error. With --dequantize the "
      "directory "
      "has plain weights under the names of Hugging Face. It is built next to its place, checked, and only then "
      "renamed.");
  command.add_path({.names = "MODEL.gguf",
                    .help = "GGUF file, or any part of a split model",
                    .kind = ValueKind::file,
                    .file_patterns = {"*.gguf"}},
                   convert.input);
  command.add({.names = "-o,--output",
               .value_name = "DIR",
               .help = "Output directory",
               .kind = ValueKind::directory,
               .in_usage = true},
              convert.output);
  command.add(
      {.names = "--exact",
       .help = "Fail if any tensor cannot be carried exactly; scales become F32 where 16 bits do not hold them"},
      convert.forms.exact);
  command.add({.names = "--fallback",
               .value_name = "FORM",
               .help = "Form for what has no exact one (default: 8 bits in groups of 32, searched)",
               .kind = ValueKind::choice,
               .choices = fallback_names()},
              arguments.fallback);
  command.add({.names = "--scales",
               .value_name = "TYPE",
               .help = "Type of scales (default auto: 16 bits, F32 where that would cost more than 1 %)",
               .kind = ValueKind::choice,
               .choices = {"auto", "f16", "bf16", "f32"}},
              arguments.scales);
  command.add({.names = "--dequantize",
               .value_name = "TYPE",
               .help = "Write plain weights under the names of Hugging Face",
               .kind = ValueKind::choice,
               .choices = {"bf16", "f16", "f32"}},
              arguments.dequantize);
  command.add(
      {.names = "--dtype",
       .value_name = "TYPE",
       .help = "Type for tensors that are not quantised in the file (default: the smallest that holds their values)",
       .kind = ValueKind::choice,
       .choices = {"bf16", "f16", "f32"}},
      arguments.dtype);
  command.add({.names = "--model-type",
               .value_name = "NAME",
               .help = "model_type of config.json, where several share an architecture (mistral)"},
              convert.model_type);
  command.add_size(
      {.names = "--shard-size",
       .value_name = "SIZE",
       .help = "Start a new file after this many bytes of tensors (default 5G; K, M and G are powers of 1000)",
       .kind = ValueKind::size},
      arguments.shard_size);
  command.add({.names = "--pre", .value_name = "NAME", .help = "Pre-tokenizer, by one of llama.cpp's names"},
              convert.pre);
  command.add({.names = "--no-tokenizer", .help = "Leave out the tokenizer"}, convert.no_tokenizer);
  command.add({.names = "--raw-names",
               .help = "With --dequantize: the tensors alone, under the file's own names, of any architecture"},
              convert.raw_names);
  command.add({.names = "--base",
               .value_name = "MODEL",
               .help = "Convert a LoRA adapter, whose base this is: a directory (its config.json is enough) or a GGUF"},
              arguments.base);
  command.add({.names = "--adapter",
               .value_name = "FORM",
               .help = "Form of an adapter (default peft)",
               .kind = ValueKind::choice,
               .choices = {"peft", "mlx"}},
              arguments.adapter);
  command.add({.names = "--follow-links", .help = "Accept symbolic links that lead out of the folder"},
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
  command.example("gguf2mlx model.gguf -o model-exact --exact --fallback f32", "Lose nothing, whatever it costs");
  command.example("gguf2mlx model.gguf -o model-bf16 --dequantize bf16", "Plain weights for transformers");
  command.example("gguf2mlx lora.gguf --base Llama-3.2-1B -o my-lora", "Take an adapter back to the form of PEFT");
  command.add_remote_flags();
  command.daily({"--output", "--exact", "--fallback", "--dequantize", "--shard-size", "--dry-run", "--force"});
  return command;
}

}  // namespace modelutils::cli
