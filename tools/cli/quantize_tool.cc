#include "cli/quantize_tool.h"

#include "base/os/files.h"
#include "cli/remarks.h"
#include "io/atomic_output.h"
#include "io/standard_output.h"
#include "report/tool_reports.h"

namespace modelutils::cli {

namespace {

// The report goes to standard output unless that carries the GGUF. The summary is a message and goes to standard error.
Status show_quantized(const requantize::QuantizeRequest& request, std::string_view form, const CommonOptions& common,
                      const Messages& messages, const requantize::QuantizeReport& report) {
  show_remarks(messages, common, report.remarks.findings(), report.input);
  if (report.projector) show_remarks(messages, common, report.projector->remarks.findings(), report.input);
  const bool plan = request.dry_run;
  const bool stdout_is_free =
      plan || !(is_standard_output(request.output) || is_standard_output(request.conversion.with_projector));
  TextOutput out(stdout_is_free && (plan || !form.empty()) ? os::standard_output : os::standard_error);
  if (form == "json") {
    out << quantize_json(report);
  } else if (plan || !common.quiet) {
    out << quantize_text(report, common.verbosity > 0);
  }
  return out.flush();
}

}  // namespace

int run_quantize(requantize::QuantizeRequest& request, const TypeArguments& types, std::string_view report_form,
                 const CommonOptions& common, const Messages& messages) {
  if (const Status settled = types.settle(request); !settled) return messages.error(settled.error());
  Progress progress("planning", 0, use_progress(common));
  const auto show_it = [&](const requantize::QuantizeReport& report) {
    progress.finish();
    return show_quantized(request, report_form, common, messages, report);
  };
  if (!report_form.empty()) request.deliver = show_it;
  const auto report = requantize::quantize_model(request, progress);
  progress.finish();
  if (!report) return messages.error(in_file(report.error(), request.input));
  if (request.dry_run || report_form.empty()) {
    if (const Status shown = show_it(*report); !shown) return messages.error(shown.error());
  }
  return exit_ok;
}

}  // namespace modelutils::cli
