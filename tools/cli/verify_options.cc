#include "cli/verify_options.h"

namespace modelutils::cli {

namespace {

// Headings of --help.
constexpr const char* check_group = "Check";
constexpr const char* compare_group = "Compare";
constexpr const char* select_group = "Select";
constexpr const char* output_group = "Output";

}  // namespace

Command verify_command(VerifyArguments& arguments) {
  Command command("verify", "Check model files: GGUF, safetensors, MLX directories, BUMPWGT");
  command.description(
      "A path is a GGUF file (any part of a split model stands for the whole), a .safetensors file or its index, an "
      "MLX or Hugging Face directory, or BUMPWGT3, 4 or 5 weights with the files next to them. The format is "
      "recognised by content, not by name. A directory stands for every model in and below it. Without --data, the "
      "time does not depend on the size of the model, except for BUMPWGT, whose checksum is always verified. A finding "
      "that repeats in many places is printed once with a count; -v lists them all.");
  command.add({.names = "PATH…",
               .help = "Model files, shard indexes or model directories",
               .group = "Arguments",
               .kind = ValueKind::file,
               .file_patterns = {"*.gguf", "*.safetensors", "*.bump", "*.index.json"},
               .may_lack = true},
              arguments.paths);
  command.add({"--data", {}, "Also read every tensor and look for NaN and Inf in values and block scales", check_group},
              arguments.verify.data);
  command.add({"--strict", {}, "Treat warnings as errors", check_group}, arguments.strict);
  command.add({"--together",
               {},
               "Check that projectors, adapters and importance matrices fit the model; give all of them as PATH",
               check_group},
              arguments.verify.together);
  command.add({"--jobs", "N", "Use at most N threads in total (default: one per core)", check_group, ValueKind::number},
              arguments.jobs);
  command.add({"--against", "SOURCE", "Compare a converted model with its source, tensor by tensor", compare_group,
               ValueKind::file},
              arguments.verify.against);
  command.add({"--hash",
               "ALGORITHM",
               "Print a manifest: a checksum of each tensor, one JSON object per line",
               compare_group,
               ValueKind::choice,
               {"sha256", "xxh3"}},
              arguments.hash);
  command.add({"--whole-file", {}, "With --hash: also a checksum of each file", compare_group},
              arguments.verify.whole_file);
  command.add(
      {"--check", "MANIFEST",
       "Compare with a manifest made by --hash, gguf2bump or llama-gguf-hash, or with published checksums: SHA256SUMS, "
       "the Hub's JSON, a Git LFS pointer; - reads standard input. Without a PATH, the files named in it are checked",
       compare_group, ValueKind::file},
      arguments.verify.manifest);
  command.add(
      {"--sha256", "HEX", "Compare the file's SHA-256 with these 64 digits, as a web page shows them", compare_group},
      arguments.verify.sha256);
  command.add({"--published", "ADDRESS",
               "Compare files with the Hub's current listing: sizes, checksums, revision and missing files of "
               "hf://ORG/REPO[@REVISION][/PATH]",
               compare_group},
              arguments.verify.published);
  command.add({"--authentic",
               {},
               "Compare files in download caches (Hugging Face, Ollama) with the checksums recorded there",
               compare_group},
              arguments.verify.authentic);
  command.add({"--exclude", "GLOB", "In directories: skip files and folders with this name or path", select_group},
              arguments.verify.exclude);
  command.add({"--newer-than", "FILE", "Only models with a file modified after FILE", select_group, ValueKind::file},
              arguments.verify.newer_than);
  command.add({"--follow-links",
               {},
               "Accept symbolic links that lead out of a model's directory; follow links to directories",
               select_group},
              arguments.follow_links);
  command.add(
      {"--ignore-index", {}, "In directories: use the shards that are present and ignore the index", select_group},
      arguments.verify.ignore_index);
  command.add({"--json", {}, "Print one JSON object per line for each path", output_group}, arguments.json);
  command.add({"--format",
               "FORM",
               "Output format: json is the same as --json; sarif, junit, github (workflow commands) and markdown (job "
               "summaries) are for CI systems; sums, with --hash sha256 --whole-file, is for sha256sum -c",
               output_group,
               ValueKind::choice,
               {"text", "json", "sarif", "junit", "github", "markdown", "sums"}},
              arguments.format);
  command.add({"--policy",
               "FILE",
               "Apply a policy (YAML): required keys, allowed architectures, types and formats, maximum size, "
               "forbidden content",
               check_group,
               ValueKind::file,
               {},
               {"*.yaml", "*.yml"}},
              arguments.policy);
  command.add({"--sbom",
               "FORM",
               "Print a bill of materials instead of findings: each model's own metadata and the SHA-256 of its files",
               output_group,
               ValueKind::choice,
               {"cyclonedx", "spdx"}},
              arguments.sbom);
  command.add(
      {"--signature", "FILE", "Check an OpenSSF model signature of PATH, offline", compare_group, ValueKind::file},
      arguments.signature);
  command.add({"--key", "FILE", "With --signature: the trusted public key (PEM)", compare_group, ValueKind::file},
              arguments.key);
  command.add(
      {"--certificate", "FILE", "With --signature: the trusted certificates (PEM)", compare_group, ValueKind::file},
      arguments.certificate);
  command.add({"--explain", "CODE", "Explain a finding: what it means, how it happens and what to do", output_group},
              arguments.explain);
  command.example("verify model.gguf", "Check the structure; instant for any size");
  command.example("verify --data model.gguf", "Check the structure and every value");
  command.example("verify --hash sha256 model.gguf > model.manifest", "Save checksums of all tensors");
  command.example("verify .", "Check every model in and below the current directory");
  command.example("verify --format sarif . > verify.sarif", "Write a report for code scanning in CI");
  command.example("verify --explain gguf-length", "Explain a finding");
  command.example("verify --sha256 HEX model.gguf", "Check a download against the digest on its web page");
  command.example("verify --check model.manifest model.gguf", "Find out whether anything has changed since");
  command.add_remote_flags();
  command.add_pager();
  command.daily({"--data", "--against", "--hash", "--check", "--strict", "--json", "--explain"});
  return command;
}

}  // namespace modelutils::cli
