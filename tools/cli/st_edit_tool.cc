#include "cli/st_edit_tool.h"

#include <fmt/core.h>

#include "base/escape.h"
#include "base/os/files.h"
#include "cli/remarks.h"
#include "io/atomic_output.h"
#include "io/standard_output.h"
#include "report/tool_reports.h"

namespace modelutils::cli {

namespace {

// The report goes to standard output, or to standard error if that is the output. The summary is a message and goes to
// standard error.
Status show_edit(const StEditArguments& options, const CommonOptions& common, const Messages& messages,
                 const to_safetensors::StReport& report) {
  show_remarks(messages, common, report.remarks.findings(), report.input);
  const bool is_plan = options.edit.dry_run;
  const bool is_free = !is_standard_output(options.edit.output) || is_plan;
  TextOutput out((is_plan || options.wants_json()) && is_free ? os::standard_output : os::standard_error);
  if (options.wants_json()) {
    out << checkpoint_json(report);
  } else if (is_plan || !common.quiet) {
    out << checkpoint_text(report, is_plan || common.verbosity > 0);
  }
  return out.flush();
}

int run_fix_index(const StEditArguments& options, const CommonOptions& common, const Messages& messages) {
  const to_safetensors::StEditOptions& edit = options.edit;
  if (!edit.output.empty() || !edit.operations.empty() || edit.single || edit.max_shard_size || edit.reserve) {
    return messages.error(usage_error("--fix-index works in place, without -o and other operations").value());
  }
  const auto done = to_safetensors::fix_index(edit.input, edit.dry_run);
  if (!done) return messages.error(in_file(done.error(), edit.input));
  TextOutput out(edit.dry_run ? os::standard_output : os::standard_error);
  if (!common.quiet || edit.dry_run) out << fmt::format("{}: {}\n", escape(edit.input), escape(*done));
  return exit_ok;
}

int run_recover(const StEditArguments& options, const CommonOptions& common, const Messages& messages) {
  const to_safetensors::StEditOptions& edit = options.edit;
  if (!edit.operations.empty() || !edit.output.empty() || options.in_place || edit.dry_run) {
    return messages.error(usage_error("--recover cannot be combined with anything but --journal and --force").value());
  }
  Findings remarks;
  const auto recovered =
      to_safetensors::recover_metadata_edit(edit.input, {.journal = options.journal, .force = edit.force}, remarks);
  for (const Finding& remark : remarks) messages.remark(remark, edit.input);
  if (!recovered) return messages.error(in_file(recovered.error(), edit.input));
  constexpr std::string_view texts[] = {"no edit was interrupted", "the edit is undone", "the edit is completed"};
  TextOutput out(os::standard_error);
  if (!common.quiet) out << fmt::format("{}: {}\n", escape(edit.input), texts[static_cast<std::size_t>(*recovered)]);
  return exit_ok;
}

int run_in_place(const StEditArguments& options, const CommonOptions& common, const Messages& messages) {
  const to_safetensors::StEditOptions& edit = options.edit;
  if (!edit.output.empty()) return messages.error(usage_error("-o and --in-place cannot be combined").value());
  const auto changes = to_safetensors::plan_metadata_edit(edit);
  if (!changes) return messages.error(in_file(changes.error(), edit.input));
  Findings remarks;
  const Status done = edit.dry_run ? Status() : to_safetensors::edit_metadata_in_place(*changes, edit.force, remarks);
  for (const Finding& remark : remarks) messages.remark(remark, edit.input);
  if (!done) return messages.error(in_file(done.error(), edit.input));
  TextOutput out(edit.dry_run ? os::standard_output : os::standard_error);
  for (const auto& change : *changes) {
    if (common.quiet && !edit.dry_run) continue;
    out << fmt::format("{}: {}\n", escape(change.path), edit.dry_run ? "the header would change" : "edited in place");
  }
  if (changes->empty() && !common.quiet) out << fmt::format("{}: nothing changes\n", escape(edit.input));
  return exit_ok;
}

}  // namespace

int run_st_edit(Command (*make)(StEditArguments& arguments), int argc, char** argv) {
  StEditArguments options;
  Command command = make(options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const Messages messages(command);
  options.settle();
  if (options.recover) return run_recover(options, command.common(), messages);
  if (!options.journal.empty()) return messages.error(usage_error("--journal needs --recover").value());
  if (options.in_place) return run_in_place(options, command.common(), messages);
  if (options.fix_index) return run_fix_index(options, command.common(), messages);
  Progress progress("planning", 0, use_progress(command.common()));
  const auto show_it = [&](const to_safetensors::StReport& report) {
    progress.finish();
    return show_edit(options, command.common(), messages, report);
  };
  if (options.wants_json()) options.edit.deliver = show_it;
  const auto report = to_safetensors::st_edit(options.edit, progress);
  progress.finish();
  if (!report) return messages.error(in_file(report.error(), options.edit.input));
  if (options.edit.dry_run || !options.wants_json()) {
    if (const Status shown = show_it(*report); !shown) return messages.error(shown.error());
  }
  return exit_ok;
}

}  // namespace modelutils::cli
