// mlx2gguf: converts an MLX or Hugging Face directory, or an image model, to a GGUF.
#include <algorithm>
#include <array>

#include "base/os/files.h"
#include "convert/to_gguf/mlx_to_gguf.h"

#include "cli/mlx2gguf_options.h"
#include "cli/quantize_tool.h"
#include "cli/remarks.h"
#include "convert/to_gguf/adapter_to_gguf.h"
#include "io/atomic_output.h"
#include "io/standard_output.h"
#include "report/transfer_report.h"
#include "tools.h"

using namespace modelutils;

namespace {

// The report goes to standard output unless that carries the GGUF. The summary is a message and goes to standard error.
Status show(const cli::Mlx2ggufArguments& options, const cli::CommonOptions& common, const cli::Messages& messages,
            const TransferReport& report) {
  cli::show_remarks(messages, common, report.remarks.findings(), report.input);
  const bool plan = options.convert.dry_run;
  const bool stdout_is_free =
      plan || !(is_standard_output(options.convert.output) || is_standard_output(options.convert.with_projector));
  TextOutput out(stdout_is_free && (plan || !options.report.empty()) ? os::standard_output : os::standard_error);
  if (options.report == "json") {
    out << transfer_json(report);
  } else if (plan || !common.quiet) {
    out << transfer_text(report, plan || common.verbosity > 0);
  }
  return out.flush();
}

// Handles --type and related options: converts and quantises the directory in one step.
int convert_and_quantize(const cli::Mlx2ggufArguments& options, const cli::CommonOptions& common,
                         const cli::Messages& messages) {
  const to_gguf::MlxToGgufOptions& convert = options.convert;
  if (convert.split_max_size) {
    return messages.error(usage_error("--split-max-size cannot be combined with options that choose types").value());
  }
  requantize::QuantizeRequest request;
  request.input = convert.directory;
  request.output = convert.output;
  request.conversion = convert;
  request.exact = convert.repack.exact;
  request.force = convert.force;
  request.dry_run = convert.dry_run;
  request.threads = convert.threads;
  request.conversion.repack.exact = false;
  return cli::run_quantize(request, options.types, options.report, common, messages);
}

// Reads --type for --mmproj, with which options for language models are not allowed.
Status read_projector_options(cli::Mlx2ggufArguments& options) {
  to_gguf::MlxToGgufOptions& convert = options.convert;
  const bool is_other = !convert.with_projector.empty() || !convert.adapters.empty() || convert.split_max_size ||
                        convert.no_vocab || !convert.pre.empty() || !convert.pre_force.empty() || !options.mtp.empty();
  if (is_other) return usage_error("--mmproj cannot be combined with options for the language model");
  if (!options.types.is_wanted()) return {};
  convert.projector_type = type_from_name(options.types.type.value_or(""));
  constexpr std::array types = {TensorType::F32, TensorType::F16, TensorType::BF16, TensorType::Q8_0};
  if (!convert.projector_type || std::ranges::find(types, *convert.projector_type) == types.end()) {
    return usage_error("--mmproj takes --type f32, f16, bf16 or q8_0");
  }
  return {};
}

// Converts an adapter, for which few options apply.
int convert_adapter(const cli::Mlx2ggufArguments& options, const cli::CommonOptions& common,
                    const cli::Messages& messages) {
  const to_gguf::MlxToGgufOptions& model = options.convert;
  if (model.projector || !model.with_projector.empty()) {
    return messages.error(usage_error("an adapter has no projector for --mmproj or --with-mmproj").value());
  }
  to_gguf::AdapterToGgufOptions convert;
  convert.directory = model.directory;
  convert.base = options.base;
  convert.task = options.task;
  convert.output = model.output;
  convert.name = model.name;
  convert.exact = model.repack.exact;
  convert.force = model.force;
  convert.dry_run = model.dry_run;
  if (options.types.is_wanted()) {
    convert.type = type_from_name(options.types.type.value_or(""));
    if (convert.type != TensorType::F32 && convert.type != TensorType::F16 && convert.type != TensorType::BF16) {
      return messages.error(usage_error("an adapter takes --type f32, f16 or bf16").value());
    }
  }
  Progress progress("planning", 0, cli::use_progress(common));
  const auto show_it = [&](const TransferReport& report) {
    progress.finish();
    return show(options, common, messages, report);
  };
  if (!options.report.empty()) convert.deliver = show_it;
  const auto report = to_gguf::adapter_to_gguf(convert, progress);
  progress.finish();
  if (!report) return messages.error(report.error());
  if (convert.dry_run || options.report.empty()) {
    if (const Status shown = show_it(*report); !shown) return messages.error(shown.error());
  }
  return cli::exit_ok;
}

}  // namespace

int modelutils::cli::mlx2gguf(int argc, char** argv) {
  cli::Mlx2ggufArguments options;
  cli::Command command = cli::mlx2gguf_command(options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const cli::Messages messages(command);
  if (options.follow_links) options.convert.links = OutsideLinks::follow;
  if (options.convert.output.empty() && !options.convert.dry_run) {
    return messages.error(usage_error("-o OUT.gguf is missing").value());
  }
  if (const Status checked = cli::check_image_flags(options.convert); !checked) return messages.error(checked.error());
  if (options.mtp == "keep") options.convert.prediction = PredictionChoice::keep;
  if (options.mtp == "only") options.convert.prediction = PredictionChoice::only;
  if (options.mtp == "drop") options.convert.prediction = PredictionChoice::drop;
  if (options.rerank && options.no_rerank) {
    return messages.error(usage_error("--rerank and --no-rerank exclude each other").value());
  }
  if (options.rerank || options.no_rerank) options.convert.rerank = options.rerank;
  const auto adapters = cli::wanted_adapters(options.adapters);
  if (!adapters) return messages.error(adapters.error());
  options.convert.adapters = *adapters;
  if (!options.base.empty() || !options.task.empty() || adapter::is_adapter(options.convert.directory)) {
    return convert_adapter(options, command.common(), messages);
  }
  if (options.convert.projector) {
    if (const Status read = read_projector_options(options); !read) return messages.error(read.error());
  } else if (options.types.is_wanted()) {
    return convert_and_quantize(options, command.common(), messages);
  }
  options.convert.has_fallback = !options.fallback.empty();
  options.convert.repack.fallback =
      options.convert.projector ? TensorType::F32 : type_from_name(options.fallback).value_or(TensorType::Q8_0);
  Progress progress("planning", 0, cli::use_progress(command.common()));
  const auto show_it = [&](const TransferReport& report) {
    progress.finish();
    return show(options, command.common(), messages, report);
  };
  if (!options.report.empty()) options.convert.deliver = show_it;
  const auto report = to_gguf::mlx_to_gguf(options.convert, progress);
  progress.finish();
  if (!report) return messages.error(report.error());
  if (options.convert.dry_run || options.report.empty()) {
    if (const Status shown = show_it(*report); !shown) return messages.error(shown.error());
  }
  return cli::exit_ok;
}
