// gguf-edit: changes the metadata of a GGUF and fixes errors in it.
#include "edit/gguf_edit.h"

#include <fmt/core.h>

#include "base/escape.h"
#include "base/os/files.h"
#include "base/text.h"
#include "cli/gguf_edit_options.h"
#include "compare/compare.h"
#include "edit/importance_merge.h"
#include "io/atomic_output.h"
#include "io/standard_output.h"
#include "report/model_diff.h"
#include "tools.h"

using namespace modelutils;

namespace {

int recover(const cli::GgufEditArguments& options, const cli::CommonOptions& common, const cli::Messages& messages) {
  const edit::EditOptions& edit = options.edit;
  if (!options.operations.empty() || edit.split.is_wanted() || edit.reserve || !edit.output.empty() || edit.in_place ||
      edit.dry_run) {
    return messages.error(usage_error("--recover cannot be combined with anything but --journal and --force").value());
  }
  Findings remarks;
  const auto recovered = edit::recover_edit(edit.model, {.journal = options.journal, .force = edit.force}, remarks);
  for (const Finding& remark : remarks) messages.remark(remark, edit.model);
  if (!recovered) return messages.error(in_file(recovered.error(), edit.model));
  constexpr std::string_view texts[] = {"no edit was interrupted", "the edit is undone", "the edit is completed"};
  TextOutput out(os::standard_error);
  if (!common.quiet) out << fmt::format("{}: {}\n", escape(edit.model), texts[static_cast<std::size_t>(*recovered)]);
  return cli::exit_ok;
}

Model as_model(gguf::SplitSet set) {
  Model model;
  model.format = Format::gguf;
  model.probe.path = set.files.front().path;
  model.gguf = std::move(set);
  return model;
}

// Prints the planned changes in the form of model-diff.
int show_changes(edit::EditPlan plan, const cli::CommonOptions& common, const cli::Messages& messages) {
  CompareOptions options;
  options.quick = true;  // the planned file has no tensor data yet
  const gguf::Document& before = plan.before.files.front().document;
  const gguf::Document& after = plan.after.files.front().document;
  const bool is_same_form = before.version == after.version && before.alignment == after.alignment;
  const std::size_t files = plan.before.files.size();
  const std::size_t new_files = plan.after.files.size();
  options.layout = !is_same_form && new_files == files;  // splitting moves every tensor, so do not compare offsets
  const auto diff = compare_models(as_model(std::move(plan.before)), as_model(std::move(plan.after)), options);
  if (!diff) return messages.error(diff.error());
  TextOutput out;
  if (new_files != files) out << fmt::format("files: {} → {}\n", files, new_files);
  if ((*diff)->is_silent() && is_same_form && new_files == files) out << "nothing changes\n";
  DiffOptions form;
  form.style = Style(cli::use_color(common));
  form.width = cli::terminal_width();
  if (const Status shown = write_diff_text(out, **diff, form); !shown) return messages.error(shown.error());
  if (const Status written = out.flush(); !written) return messages.error(written.error());
  return cli::exit_ok;
}

// True if the run merges or converts importance matrices: several are given, or the model or the output is in the
// format used before GGUF.
bool is_about_importance(const cli::GgufEditArguments& options) {
  if (!options.importance.empty() || edit::is_importance_file(options.edit.model, true)) return true;
  return options.edit.output.ends_with(".dat") && edit::is_importance_file(options.edit.model, false);
}

int merge_importance(const cli::GgufEditArguments& options, const cli::CommonOptions& common,
                     const cli::Messages& messages) {
  const edit::EditOptions& edit = options.edit;
  if (!options.operations.empty() || edit.split.is_wanted() || edit.reserve || edit.in_place) {
    return messages.error(
        usage_error("importance matrices can only be converted and added up, not edited or split").value());
  }
  if (edit.output.empty() && !edit.dry_run) return messages.error(usage_error("-o is missing").value());
  edit::ImportanceRequest request{
      .inputs = {edit.model}, .output = edit.output, .legacy = edit.output.ends_with(".dat"), .force = edit.force};
  for (const std::string& path : options.importance) request.inputs.push_back(path);
  const auto merge = edit::plan_importance_merge(request);
  if (!merge) return messages.error(in_file(merge.error(), edit.model));
  for (const Finding& remark : merge->remarks) messages.remark(remark, edit.model);
  const auto say = [&](TextOutput& out) {
    out << fmt::format("{}: {}, {}, {}\n", escape(edit.output.empty() ? edit.model : edit.output),
                       counted(merge->entries.size(), "tensor"), counted(merge->chunks, "chunk"),
                       byte_text(merge->file_size));
    return out.flush();
  };
  if (edit.dry_run) {
    const Status free = edit.output.empty() ? Status{} : edit::check_importance_output(request, *merge);
    TextOutput out;
    if (const Status shown = free ? say(out) : free; !shown) return messages.error(shown.error());
    return cli::exit_ok;
  }
  Progress progress("writing", 0, cli::use_progress(common));
  const Status written = edit::write_importance_merge(request, *merge, progress);
  progress.finish();
  if (!written) return messages.error(in_file(written.error(), edit.model));
  TextOutput out(os::standard_error);
  if (!common.quiet && !is_standard_output(edit.output)) (void)say(out);
  return cli::exit_ok;
}

}  // namespace

int modelutils::cli::gguf_edit(int argc, char** argv) {
  cli::GgufEditArguments options;
  cli::Command command = cli::gguf_edit_command(options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const cli::Messages messages(command);
  if (options.recover) return recover(options, command.common(), messages);
  if (!options.journal.empty()) return messages.error(usage_error("--journal needs --recover").value());
  if (is_about_importance(options)) return merge_importance(options, command.common(), messages);
  edit::EditOptions& edit = options.edit;
  edit.operations = cli::edit_operations(options.operations);
  auto plan = edit::plan_edit(edit);
  if (!plan) return messages.error(plan.error());
  const std::size_t shown = plan->remarks.size();
  for (const Finding& remark : plan->remarks) messages.remark(remark, edit.model);
  if (edit.dry_run) return show_changes(std::move(*plan), command.common(), messages);
  Progress progress("writing", 0, cli::use_progress(command.common()));
  const auto written = edit::perform_edit(edit, *plan, progress);
  progress.finish();
  for (std::size_t i = shown; i < plan->remarks.size(); ++i) messages.remark(plan->remarks[i], edit.model);
  if (!written) return messages.error(in_file(written.error(), edit.model));
  TextOutput out(os::standard_error);
  for (const edit::WrittenFile& file : *written) {
    if (command.common().quiet || is_standard_output(file.path)) continue;
    out << fmt::format("{}: {}, {}\n", escape(file.path), counted(file.tensors, "tensor"), byte_text(file.bytes));
  }
  return cli::exit_ok;
}
