// verify: is this model file sound, is its data, is it the one of the manifest, is it the one it was converted from?
#include "verify/verify.h"

#include <algorithm>

#include "cli/command.h"
#include "io/text_output.h"

namespace {

using namespace modelutils;

struct Options {
  VerifyOptions verify;
  std::vector<std::string> paths;
  std::optional<std::string> hash;
  bool strict = false;
  bool json = false;
};

void describe(cli::Command& command, Options& options) {
  command.add_paths({"PATH", {}, "A model file, a shard index, or a model directory"}, options.paths);
  command.add({"--data", {}, "Read every tensor as well: NaN and Inf in values and block scales"}, options.verify.data);
  command.add({"--hash",
               "ALGORITHM",
               "Print a manifest: a checksum of each tensor, one JSON object a line",
               "Options",
               cli::ValueKind::choice,
               {"sha256", "xxh3"}},
              options.hash);
  command.add({"--whole-file", {}, "With --hash: a checksum of each file too"}, options.verify.whole_file);
  command.add({"--check", "MANIFEST", "Compare with a manifest of --hash, gguf2bump or llama-gguf-hash", "Options",
               cli::ValueKind::file},
              options.verify.manifest);
  command.add({"--against", "SOURCE", "Compare a converted model with what it came from, tensor by tensor", "Options",
               cli::ValueKind::file},
              options.verify.against);
  command.add({"--strict", {}, "Warnings fail as errors do"}, options.strict);
  command.add({"--json", {}, "One JSON object a line for each path"}, options.json);
  command.example("verify model.gguf", "Structure: a moment, whatever the size");
  command.example("verify --data model.gguf", "Structure and every value");
  command.example("verify --hash sha256 model.gguf > model.manifest", "Checksums of all tensors");
  command.example("verify --check model.manifest model.gguf", "Has anything changed since?");
}

int run(int argc, char** argv) {
  cli::Command command("verify", "Check model files: GGUF, safetensors, MLX directories, BUMPWGT3");
  Options options;
  describe(command, options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const cli::Messages messages(command);

  // A manifest has standard output for itself; the findings then go to standard error.
  TextOutput results;
  TextOutput remarks(2);
  TextOutput& text = options.hash ? remarks : results;
  const VerifyTextOptions style{!options.hash && cli::use_color(command.common()),
                                options.hash && command.common().quiet};
  Progress progress("reading", 0, cli::use_progress(command.common()));
  options.verify.progress = &progress;
  if (options.hash) options.verify.hash = hash_from_name(*options.hash);
  options.verify.manifest_line = [&](std::string_view line) { return !(results << line).closed(); };

  int status = cli::exit_ok;
  const Status done = verify_paths(options.paths, options.verify, [&](const VerifyReport& report) {
    progress.finish();
    if (report.unreadable) status = std::max(status, messages.error(*report.unreadable));
    if (report.is_bad(options.strict)) status = std::max(status, cli::exit_findings);
    if (options.json) {
      results << verify_json(report, options.strict);
    } else if (!report.unreadable) {
      text << verify_text(report, style);
    }
  });
  if (!done) status = std::max(status, messages.error(done.error()));
  if (Status written = results.flush(); !written) status = std::max(status, messages.error(written.error()));
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("verify", [&] { return run(argc, argv); });
}
