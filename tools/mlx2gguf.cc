// MLX or Hugging Face directory -> GGUF.
#include "convert/mlx_to_gguf.h"

#include <unistd.h>

#include "cli/command.h"
#include "io/text_output.h"

using namespace modelutils;

namespace {

struct Options {
  convert::MlxToGgufOptions convert;
  std::string fallback = "q8_0";
  std::string report;
};

void define(cli::Command& command, Options& options) {
  convert::MlxToGgufOptions& convert = options.convert;
  command.description(
      "Quantised blocks are repacked bit for bit where a GGUF block type can hold them; what cannot be carried exactly "
      "is "
      "reported tensor by tensor, with its measured error. The output is complete: hyper-parameters, tokenizer, chat "
      "template. It is checked before it gets its name.");
  command.add_path({.names = "MODEL_DIR",
                    .help = "Directory with config.json and safetensors files",
                    .kind = cli::ValueKind::directory},
                   convert.directory);
  command.add({.names = "-o,--output",
               .value_name = "OUT.gguf",
               .help = "Output file; - streams to standard output",
               .kind = cli::ValueKind::output_file,
               .file_patterns = {"*.gguf"}},
              convert.output);
  command.add({.names = "--fallback",
               .value_name = "TYPE",
               .help = "Type for what has no exact block type (default q8_0)",
               .kind = cli::ValueKind::choice,
               .choices = {"q8_0", "f16", "bf16", "f32"}},
              options.fallback);
  command.add({.names = "--exact", .help = "Refuse every tensor that is not carried with error 0"},
              convert.repack.exact);
  command.add({.names = "--compat", .help = "Avoid types that older runtimes lack (MXFP4, NVFP4)"},
              convert.repack.compat);
  command.add({.names = "--pre", .value_name = "NAME", .help = "Pre-tokenizer, one of llama.cpp's names"}, convert.pre);
  command.add({.names = "--pre-force", .value_name = "NAME", .help = "Pre-tokenizer, any name"}, convert.pre_force);
  command.add({.names = "--name", .value_name = "TEXT", .help = "general.name (default: from the directory's name)"},
              convert.name);
  command.add({.names = "--no-vocab", .help = "Leave the tokenizer out"}, convert.no_vocab);
  command.add_size({.names = "--split-max-size",
                    .value_name = "SIZE",
                    .help = "Write several files of at most SIZE bytes of tensor data each",
                    .kind = cli::ValueKind::size},
                   convert.split_max_size);
  command.add({.names = "--force", .help = "Replace an existing output"}, convert.force);
  command.add({.names = "--dry-run", .help = "Plan and check, write nothing"}, convert.dry_run);
  command.add({.names = "--report",
               .value_name = "FORMAT",
               .help = "Report on standard output (standard error with -o -)",
               .kind = cli::ValueKind::choice,
               .choices = {"json"}},
              options.report);
  command.example("mlx2gguf Llama-3.2-1B-Instruct-4bit -o llama.gguf", "Convert a model");
  command.example("mlx2gguf model-6bit -o m.gguf --fallback f16", "Keep more of what has no exact block type");
  command.example("mlx2gguf model -o m.gguf --dry-run", "See what would become of every tensor");
}

// The report is a result: on standard output, unless that carries the GGUF. The summary is a message.
int show(const Options& options, const cli::CommonOptions& common, const cli::Messages& messages,
         const convert::ConversionReport& report) {
  for (const Finding& remark : report.remarks) {
    if (remark.severity == Severity::warning) messages.warning(to_error(remark, report.input));
  }
  const bool stdout_is_free = options.convert.output != "-";
  const bool plan = options.convert.dry_run;
  TextOutput out(stdout_is_free && (plan || !options.report.empty()) ? STDOUT_FILENO : STDERR_FILENO);
  if (options.report == "json") {
    out << convert::report_json(report);
  } else if (plan || !common.quiet) {
    out << convert::report_text(report, plan || common.verbosity > 0);
  }
  if (const Status written = out.flush(); !written) return messages.error(written.error());
  return cli::exit_ok;
}

int run(int argc, char** argv) {
  Options options;
  cli::Command command("mlx2gguf", "Convert an MLX or Hugging Face directory to a GGUF that llama.cpp runs");
  define(command, options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const cli::Messages messages(command);
  if (options.convert.output.empty() && !options.convert.dry_run) {
    return messages.error(usage_error("-o OUT.gguf is missing").value());
  }
  options.convert.repack.fallback = *type_from_name(options.fallback);
  Progress progress("planning", 0, cli::use_progress(command.common()));
  const auto report = convert::mlx_to_gguf(options.convert, progress);
  progress.finish();
  if (!report) {
    if (report.error().code == "out-closed") return cli::exit_ok;  // whoever read the pipe has had enough
    return messages.error(report.error());
  }
  return show(options, command.common(), messages, *report);
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("mlx2gguf", [&] { return run(argc, argv); });
}
