#include "cli/st_dump_options.h"

namespace modelutils::cli {

Command st_dump_command(StDumpArguments& arguments) {
  Command command("st-dump", "Show what is in safetensors files, sharded models and MLX directories");
  command.description(
      "A path is a .safetensors file, a model.safetensors.index.json, a directory, or - for standard input, of which "
      "only the header is read. Of an MLX or Hugging Face directory config.json is shown too.");
  command.add_paths({.names = "PATH…",
                     .help = "A safetensors file, an index, a model directory, or -",
                     .kind = ValueKind::file,
                     .file_patterns = {"*.safetensors", "*.json"}},
                    arguments.paths);
  command.add({.names = "--json", .help = "One JSON object for each path (schema st-dump/1)"}, arguments.json);
  command.add({.names = "--modules", .help = "Every module that owns a weight: logical shape, mode, bits, group size"},
              arguments.modules);
  command.add({.names = "--tensors",
               .value_name = "GLOB",
               .help = "Only tensors whose name matches; may be given several times",
               .kind = ValueKind::tensor},
              arguments.tensors);
  command.add({.names = "--get",
               .value_name = "KEY",
               .help = "Print one value of __metadata__ (or, of a directory, of config.json) as it is",
               .kind = ValueKind::key},
              arguments.get);
  command.add({.names = "--values",
               .value_name = "NAME",
               .help = "Print the values of a tensor, dequantised",
               .kind = ValueKind::tensor},
              arguments.values);
  command.add({.names = "--count", .value_name = "N", .help = "With --values: at most N", .kind = ValueKind::number},
              arguments.count);
  command.add({.names = "--raw", .help = "With --values: the stored words as unsigned numbers"}, arguments.raw);
  command.add({.names = "--stats", .help = "Count, min, max, mean, deviation, zeros, NaN and Inf of each tensor"},
              arguments.stats);
  command.add({.names = "--list",
               .value_name = "WHAT",
               .help = "Only the names that --get and --values take, one a line",
               .kind = ValueKind::choice,
               .choices = {"keys", "tensors"}},
              arguments.list);
  command.add({.names = "--csv", .help = "The tensor table as CSV"}, arguments.csv);
  command.add({.names = "--jsonl", .help = "The tensor table as JSON, one object a line"}, arguments.jsonl);
  command.example("st-dump model/", "What the model is, its files and its tensors by layer");
  command.example("st-dump --modules model/", "How each module of an MLX model is quantised");
  command.example("st-dump --values model.norm.weight --count 8 model/", "The first eight values, dequantised");
  command.example("curl -sL https://host/model.safetensors | st-dump -", "The header of a file that is not here");
  return command;
}

}  // namespace modelutils::cli
