// gguf2mlx: converts a GGUF to an MLX or Hugging Face directory.
#include "base/os/files.h"
#include "convert/to_directory/gguf_to_mlx.h"

#include "cli/gguf2mlx_options.h"
#include "cli/remarks.h"
#include "convert/to_directory/adapter_to_directory.h"
#include "convert/to_gguf/adapter_to_gguf.h"
#include "io/standard_output.h"
#include "report/transfer_report.h"
#include "tools.h"

using namespace modelutils;

namespace {

// The report goes to standard output. The summary is a message and goes to standard error.
Status show(const cli::Gguf2mlxArguments& options, const cli::CommonOptions& common, const cli::Messages& messages,
            const TransferReport& report) {
  cli::show_remarks(messages, common, report.remarks.findings(), report.input);
  const bool plan = options.convert.dry_run;
  TextOutput out(plan || !options.report.empty() ? os::standard_output : os::standard_error);
  if (options.report == "json") {
    out << transfer_json(report);
  } else if (plan || !common.quiet) {
    out << transfer_text(report, plan || common.verbosity > 0);
  }
  return out.flush();
}

// Converts an adapter, for which few options apply.
int convert_adapter(const cli::Gguf2mlxArguments& options, const cli::CommonOptions& common,
                    const cli::Messages& messages) {
  const to_directory::GgufToMlxOptions& model = options.convert;
  to_directory::AdapterToDirectoryOptions convert;
  if (model.output.empty() && !model.dry_run) return messages.error(usage_error("-o DIR is missing").value());
  convert.input = model.input;
  convert.output = model.output;
  convert.style = options.adapter == "mlx" ? DirectoryStyle::mlx : DirectoryStyle::hugging_face;
  convert.dtype = model.forms.dtype;
  convert.force = model.force;
  convert.dry_run = model.dry_run;
  if (!options.base.empty()) {
    auto base = to_gguf::read_base(options.base);
    if (!base) return messages.error(base.error());
    convert.base = std::move(*base);
  }
  Progress progress("planning", 0, cli::use_progress(common));
  const auto show_it = [&](const TransferReport& report) {
    progress.finish();
    return show(options, common, messages, report);
  };
  if (!options.report.empty()) convert.deliver = show_it;
  const auto report = to_directory::adapter_to_directory(convert, progress);
  progress.finish();
  if (!report) return messages.error(report.error());
  if (convert.dry_run || options.report.empty()) {
    if (const Status shown = show_it(*report); !shown) return messages.error(shown.error());
  }
  return cli::exit_ok;
}

}  // namespace

int modelutils::cli::gguf2mlx(int argc, char** argv) {
  cli::Gguf2mlxArguments options;
  cli::Command command = cli::gguf2mlx_command(options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const cli::Messages messages(command);
  options.settle();
  if (!options.base.empty() || !options.adapter.empty()) return convert_adapter(options, command.common(), messages);
  Progress progress("planning", 0, cli::use_progress(command.common()));
  const auto show_it = [&](const TransferReport& report) {
    progress.finish();
    return show(options, command.common(), messages, report);
  };
  if (!options.report.empty()) options.convert.deliver = show_it;
  const auto report = to_directory::gguf_to_mlx(options.convert, progress);
  progress.finish();
  if (!report) return messages.error(report.error());
  if (options.convert.dry_run || options.report.empty()) {
    if (const Status shown = show_it(*report); !shown) return messages.error(shown.error());
  }
  return cli::exit_ok;
}
