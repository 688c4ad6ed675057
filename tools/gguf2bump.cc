// gguf2bump: converts a GGUF to a checksummed BUMPWGT3 with config.json, or to BUMPWGT5 with its three companion files.
#include "base/os/files.h"
#include "convert/to_bump/gguf_to_bump.h"

#include <algorithm>

#include "cli/gguf2bump_options.h"
#include "convert/to_bump/manifest.h"
#include "io/standard_output.h"
#include "tools.h"

using namespace modelutils;

namespace {

// True if one of the outputs is written to standard output.
bool stdout_is_taken(const GgufToBumpReport& report) {
  if (report.dry_run) return false;
  const BumpOutputPaths& paths = report.paths;
  for (const auto* output : {&paths.output, &paths.config, &paths.manifest, &paths.map}) {
    if (*output && is_standard_output(**output)) return true;
  }
  return false;
}

// The report and a dry run's plan go to standard output. The summary is a message and goes to standard error.
Status show(const cli::Gguf2bumpArguments& options, bool quiet, const GgufToBumpReport& report) {
  const bool is_result = report.dry_run || !options.report.empty();
  TextOutput out(is_result && !stdout_is_taken(report) ? os::standard_output : os::standard_error);
  if (options.report == "json") {
    out << gguf_to_bump_json(report);
  } else if (options.convert.dry_run) {
    out << gguf_to_bump_plan_text(report);
  } else if (!quiet && report.refusals.empty()) {
    out << gguf_to_bump_summary(report);
  }
  return out.flush();
}

}  // namespace

int modelutils::cli::gguf2bump(int argc, char** argv) {
  cli::Gguf2bumpArguments options;
  cli::Command command = cli::gguf2bump_command(options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const cli::Messages messages(command);
  options.convert.request.version = options.bump_version == "5" ? 5 : 3;
  options.convert.request.numbering = bump::numbering_from_name(options.dtype_codes);
  options.convert.request.split_halves = options.repack == "split-halves";
  options.convert.request.align_head = options.align_head.value_or(1);

  if (options.follow_links) options.convert.links = OutsideLinks::follow;
  Progress progress("planning", 0, cli::use_progress(command.common()));
  const auto show_it = [&](const GgufToBumpReport& done) {
    progress.finish();
    return show(options, command.common().quiet, done);
  };
  if (!options.report.empty()) options.convert.deliver = show_it;
  const auto report = convert_gguf_to_bump(options.convert, progress);
  progress.finish();
  if (!report) return messages.error(report.error());
  int status = cli::exit_ok;
  for (const Error& refusal : report->refusals) status = std::max(status, messages.error(refusal));
  const bool is_shown = !options.report.empty() && !report->dry_run && report->refusals.empty();
  if (is_shown) return status;
  if (const Status shown = show_it(*report); !shown) return messages.error(shown.error());
  return status;
}
