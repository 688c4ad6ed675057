#include "cli/verify_options.h"

namespace modelutils::cli {

Command verify_command(VerifyArguments& arguments) {
  Command command("verify", "Check model files: GGUF, safetensors, MLX directories, BUMPWGT3");
  command.description(
      "A path is a GGUF file (any part of a split model stands for the whole), a .safetensors file or its index, an "
      "MLX "
      "or Hugging Face directory, or BUMPWGT3 weights with config.json beside them; the content decides. Without "
      "--data "
      "the time does not depend on the size of the model (BUMPWGT3 excepted: its checksum is always verified).");
  command.add_paths({.names = "PATH…",
                     .help = "Model files, shard indexes, model directories",
                     .kind = ValueKind::file,
                     .file_patterns = {"*.gguf", "*.safetensors", "*.bump", "*.index.json"}},
                    arguments.paths);
  command.add({"--data", {}, "Read every tensor as well: NaN and Inf in values and block scales"},
              arguments.verify.data);
  command.add({"--hash",
               "ALGORITHM",
               "Print a manifest: a checksum of each tensor, one JSON object a line",
               "Options",
               ValueKind::choice,
               {"sha256", "xxh3"}},
              arguments.hash);
  command.add({"--whole-file", {}, "With --hash: a checksum of each file too"}, arguments.verify.whole_file);
  command.add({"--check", "MANIFEST",
               "Compare with a manifest of --hash, gguf2bump or llama-gguf-hash; - reads it from standard input",
               "Options", ValueKind::file},
              arguments.verify.manifest);
  command.add({"--against", "SOURCE", "Compare a converted model with what it came from, tensor by tensor", "Options",
               ValueKind::file},
              arguments.verify.against);
  command.add({"--strict", {}, "Warnings fail as errors do"}, arguments.strict);
  command.add({"--json", {}, "One JSON object a line for each path"}, arguments.json);
  command.example("verify model.gguf", "Structure: a moment, whatever the size");
  command.example("verify --data model.gguf", "Structure and every value");
  command.example("verify --hash sha256 model.gguf > model.manifest", "Checksums of all tensors");
  command.example("verify --check model.manifest model.gguf", "Has anything changed since?");
  return command;
}

}  // namespace modelutils::cli
