// GGUF -> checksummed BUMPWGT3 with config.json.
#include "convert/gguf_to_bump.h"

#include <unistd.h>

#include "cli/command.h"
#include "convert/bump_manifest.h"
#include "io/text_output.h"

using namespace modelutils;

namespace {

struct Options {
  GgufToBumpOptions convert;
  std::optional<u64> align_head;
  std::string dtype_codes = "original";
  std::string report;
};

void define(cli::Command& command, Options& options) {
  GgufToBumpOptions& convert = options.convert;
  command.description(
      "Quantised blocks are copied, never decoded. What BUMPWGT3 has no place for is refused by name, before a byte is "
      "written; --drop accepts the loss. The weights and config.json appear together, complete, or not at all.");
  command.add_path({.names = "MODEL.gguf",
                    .help = "The model, or one file of a split model",
                    .kind = cli::ValueKind::file,
                    .file_patterns = {"*.gguf"}},
                   convert.input);
  command.add({.names = "-o,--output",
               .value_name = "WEIGHTS.bump",
               .help = "Output file; - streams to standard output (the model is then read twice)",
               .kind = cli::ValueKind::output_file,
               .file_patterns = {"*.bump"}},
              convert.output);
  command.add({.names = "--config",
               .value_name = "FILE",
               .help = "Where config.json goes (default: beside the weights)",
               .kind = cli::ValueKind::output_file},
              convert.config);
  command.add({.names = "--no-config", .help = "Write the weights alone"}, convert.no_config);
  command.add({.names = "--manifest",
               .value_name = "FILE",
               .help = "Also write dimensions, places and SHA-256 of every entry, for verify --check",
               .kind = cli::ValueKind::output_file},
              convert.manifest);
  command.add({.names = "--context",
               .value_name = "N",
               .help = "Context length instead of the model's own",
               .kind = cli::ValueKind::number},
              convert.request.context);
  command.add({.names = "--align-head",
               .value_name = "N",
               .help = "Pad every head to a multiple of N elements",
               .kind = cli::ValueKind::number},
              options.align_head);
  command.add({.names = "--dtype-codes",
               .value_name = "NUMBERING",
               .help = "original (default), or renumbered: upstream's since January 2026, with codes for more types",
               .kind = cli::ValueKind::choice,
               .choices = {"original", "renumbered"}},
              options.dtype_codes);
  command.add({.names = "--drop",
               .value_name = "GLOB",
               .help = "Accept the loss of tensors that have no place (may be given several times)",
               .kind = cli::ValueKind::tensor},
              convert.request.drop);
  command.add({.names = "--force", .help = "Replace existing outputs"}, convert.force);
  command.add({.names = "--dry-run", .help = "Show the plan, its sizes and what would be refused; write nothing"},
              convert.dry_run);
  command.add({.names = "--report",
               .value_name = "FORMAT",
               .help = "Report on standard output (standard error with -o -)",
               .kind = cli::ValueKind::choice,
               .choices = {"json"}},
              options.report);
  command.example("gguf2bump model.gguf -o weights.bump", "Write weights.bump and config.json");
  command.example("gguf2bump model.gguf --dry-run", "Can it be converted, and how large will it be?");
  command.example("gguf2bump model.gguf -o weights.bump --context 8192", "A smaller table of positions");
  command.example("gguf2bump model.gguf -o - | ssh host 'cat > weights.bump'", "Convert in a pipe");
}

// The report and the plan of a dry run are results; the summary is a message.
Status show(const Options& options, bool quiet, const GgufToBumpReport& report) {
  const bool to_stdout = options.convert.dry_run || (!options.report.empty() && options.convert.output != "-");
  TextOutput out(to_stdout ? STDOUT_FILENO : STDERR_FILENO);
  if (options.report == "json") {
    out << gguf_to_bump_json(report);
  } else if (options.convert.dry_run) {
    out << gguf_to_bump_plan_text(report);
  } else if (!quiet && report.refusals.empty()) {
    out << gguf_to_bump_summary(report);
  }
  return out.flush();
}

int run(int argc, char** argv) {
  Options options;
  cli::Command command("gguf2bump", "Convert a GGUF model to BUMPWGT3 weights and config.json");
  define(command, options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const cli::Messages messages(command);
  options.convert.request.numbering = *bump::numbering_from_name(options.dtype_codes);
  options.convert.request.align_head = options.align_head.value_or(1);

  Progress progress("planning", 0, cli::use_progress(command.common()));
  const auto report = convert_gguf_to_bump(options.convert, progress);
  progress.finish();
  if (!report) {
    if (report.error().code == "out-closed") return cli::exit_ok;  // whoever read the pipe has had enough
    return messages.error(report.error());
  }
  int status = cli::exit_ok;
  for (const Error& refusal : report->refusals) status = messages.error(refusal);
  if (const Status shown = show(options, command.common().quiet, *report); !shown) return messages.error(shown.error());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("gguf2bump", [&] { return run(argc, argv); });
}
