// pt2st: PyTorch checkpoint -> safetensors.
#include "to_safetensors/checkpoint_to_safetensors.h"

#include <unistd.h>

#include "cli/pt2st_options.h"
#include "io/text_output.h"
#include "report/checkpoint_report.h"

using namespace modelutils;

namespace {

int run(int argc, char** argv) {
  cli::Pt2stArguments options;
  cli::Command command = cli::pt2st_command(options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const cli::Messages messages(command);
  options.settle();
  Progress progress("planning", 0, cli::use_progress(command.common()));
  const auto report = convert::checkpoint_to_safetensors(options.convert, progress);
  progress.finish();
  if (!report) return messages.error(in_file(report.error(), options.convert.input));
  for (const Finding& remark : report->remarks.findings()) messages.remark(remark, report->input);
  const bool plan = options.convert.dry_run;
  TextOutput out(plan || !options.report.empty() ? STDOUT_FILENO : STDERR_FILENO);
  if (options.report == "json") {
    out << checkpoint_json(*report);
  } else if (plan || !command.common().quiet) {
    out << checkpoint_text(*report, plan || command.common().verbosity > 0);
  }
  if (const Status written = out.flush(); !written) return messages.error(written.error());
  return cli::exit_ok;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("pt2st", [&] { return run(argc, argv); });
}
