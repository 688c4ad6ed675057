// pt2st: converts a PyTorch checkpoint to safetensors.
#include "base/os/files.h"
#include "convert/to_safetensors/checkpoint_to_safetensors.h"

#include "cli/pt2st_options.h"
#include "cli/remarks.h"
#include "io/standard_output.h"
#include "report/tool_reports.h"
#include "tools.h"

using namespace modelutils;

namespace {

// The report goes to standard output. The summary is a message and goes to standard error.
Status show(const cli::Pt2stArguments& options, const cli::CommonOptions& common, const cli::Messages& messages,
            const TransferReport& report) {
  cli::show_remarks(messages, common, report.remarks.findings(), report.input);
  const bool plan = options.convert.dry_run;
  TextOutput out(plan || !options.report.empty() ? os::standard_output : os::standard_error);
  if (options.report == "json") {
    out << checkpoint_json(report);
  } else if (plan || !common.quiet) {
    out << checkpoint_text(report, plan || common.verbosity > 0);
  }
  return out.flush();
}

}  // namespace

int modelutils::cli::pt2st(int argc, char** argv) {
  cli::Pt2stArguments options;
  cli::Command command = cli::pt2st_command(options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const cli::Messages messages(command);
  options.settle();
  Progress progress("planning", 0, cli::use_progress(command.common()));
  const auto show_it = [&](const TransferReport& report) {
    progress.finish();
    return show(options, command.common(), messages, report);
  };
  if (!options.report.empty()) options.convert.deliver = show_it;
  const auto report = to_safetensors::checkpoint_to_safetensors(options.convert, progress);
  progress.finish();
  if (!report) return messages.error(in_file(report.error(), options.convert.input));
  if (options.convert.dry_run || options.report.empty()) {
    if (const Status shown = show_it(*report); !shown) return messages.error(shown.error());
  }
  return cli::exit_ok;
}
