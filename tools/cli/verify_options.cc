#include "cli/verify_options.h"

namespace modelutils::cli {

Command verify_command(VerifyArguments& arguments) {
  Command command("verify", "Check model files: GGUF, safetensors, MLX directories, BUMPWGT");
  command.description(
      "A path is a GGUF file (any part of a split model means the whole model), a .safetensors file or its index, an "
      "MLX or Hugging Face directory, or BUMPWGT3, 4 or 5 weights with the files next to them. The format is "
      "recognised by "
      "content, not by name. A directory stands for every model in and below it. Without --data, the time does not "
      "depend on the size of the model, except for BUMPWGT, "
      "whose checksum is always verified. A finding that says the same about many places is one line with their count; "
      "-v lists them all.");
  command.add_paths({.names = "PATH…",
                     .help = "Model files, shard indexes or model directories",
                     .kind = ValueKind::file,
                     .file_patterns = {"*.gguf", "*.safetensors", "*.bump", "*.index.json"},
                     .may_lack = true},
                    arguments.paths);
  command.add({"--data", {}, "Also read every tensor, looking for NaN and Inf in values and block scales"},
              arguments.verify.data);
  command.add({"--hash",
               "ALGORITHM",
               "Print a manifest: a checksum of each tensor, one JSON object per line",
               "Options",
               ValueKind::choice,
               {"sha256", "xxh3"}},
              arguments.hash);
  command.add({"--whole-file", {}, "With --hash: also a checksum of each file"}, arguments.verify.whole_file);
  command.add(
      {"--check", "MANIFEST",
       "Compare with a manifest made by --hash, gguf2bump or llama-gguf-hash, or with published checksums: SHA256SUMS, "
       "the Hub's JSON, a Git LFS pointer; - reads it from standard input. Without a PATH, the files that it names are "
       "checked",
       "Options", ValueKind::file},
      arguments.verify.manifest);
  command.add({"--against", "SOURCE", "Compare a converted model with its source, tensor by tensor", "Options",
               ValueKind::file},
              arguments.verify.against);
  command.add({"--jobs", "N", "Use at most N threads, for models and for the tensors of one together", "Options",
               ValueKind::number},
              arguments.jobs);
  command.add({"--exclude", "GLOB", "In directories: leave out files and folders of that name, or with that path"},
              arguments.verify.exclude);
  command.add(
      {"--newer-than", "FILE", "Only models of which a file was modified later than FILE", "Options", ValueKind::file},
      arguments.verify.newer_than);
  command.add(
      {"--authentic",
       {},
       "Read files of download caches (Hugging Face, Ollama) and compare them with the checksums that those keep"},
      arguments.verify.authentic);
  command.add({"--strict", {}, "Treat warnings as errors"}, arguments.strict);
  command.add(
      {"--follow-links", {}, "Accept symbolic links that lead out of a model's directory; follow links to directories"},
      arguments.follow_links);
  command.add({"--together",
               {},
               "One model and what goes with it, all GGUF: does the projector, adapter or importance matrix fit?"},
              arguments.verify.together);
  command.add({"--ignore-index", {}, "Directories: go by the files that are there, not by the index of shards"},
              arguments.verify.ignore_index);
  command.add({"--json", {}, "Print one JSON object per line for each path"}, arguments.json);
  command.add({"--format",
               "FORM",
               "What to print: text, json (as --json), for CI systems sarif, junit, github (workflow commands) or "
               "markdown (a job's "
               "summary); with --hash sha256 --whole-file sums, which sha256sum -c reads",
               "Options",
               ValueKind::choice,
               {"text", "json", "sarif", "junit", "github", "markdown", "sums"}},
              arguments.format);
  command.add({"--policy",
               "FILE",
               "Apply a policy: required keys, allowed architectures, types and formats, the largest size, forbidden "
               "content (TOML)",
               "Options",
               ValueKind::file,
               {},
               {"*.toml"}},
              arguments.policy);
  command.add(
      {"--sbom",
       "FORM",
       "Print a bill of materials instead of findings: what each model says of itself and the SHA-256 of its files",
       "Options",
       ValueKind::choice,
       {"cyclonedx", "spdx"}},
      arguments.sbom);
  command.add({"--signature", "FILE", "Check an OpenSSF model signature of PATH, offline", "Options", ValueKind::file},
              arguments.signature);
  command.add({"--key", "FILE", "With --signature: the public key (PEM) that is trusted", "Options", ValueKind::file},
              arguments.key);
  command.add({"--certificate", "FILE", "With --signature: the certificates (PEM) that are trusted", "Options",
               ValueKind::file},
              arguments.certificate);
  command.add({"--explain", "CODE", "Print what a finding means, how it happens and what to do"}, arguments.explain);
  command.example("verify model.gguf", "Check the structure: instant, whatever the size");
  command.example("verify --data model.gguf", "Check the structure and every value");
  command.example("verify --hash sha256 model.gguf > model.manifest", "Save checksums of all tensors");
  command.example("verify .", "Check every model in and below the current directory");
  command.example("verify --format sarif . > verify.sarif", "For the code scanning of a CI system");
  command.example("verify --explain gguf-length", "What does a finding mean?");
  command.example("verify --check model.manifest model.gguf", "Has anything changed since then?");
  command.add_pager();
  return command;
}

}  // namespace modelutils::cli
