#include "edit/safetensors/st_edit.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/path.h"
#include "base/text.h"
#include "formats/safetensors/index.h"
#include "io/atomic_directory.h"
#include "io/check_written.h"
#include "io/copy_range.h"
#include "io/model_folder.h"
#include "io/output_place.h"
#include "io/random_access_file.h"
#include "io/remote_address.h"

namespace modelutils::to_safetensors {

namespace {

constexpr std::string_view index_name = "model.safetensors.index.json";
bool is_pipe(const std::string& output) {
  return is_standard_output(output);
}

Status check_options(const StEditOptions& options) {
  if (options.output.empty() && !options.dry_run) return usage_error("-o FILE.safetensors or DIR is missing");
  if (options.max_shard_size == u64{0}) return usage_error("--max-shard-size must be at least 1");
  if (options.single && options.max_shard_size) {
    return usage_error("--single and --max-shard-size cannot be combined");
  }
  constexpr u64 most_reserve = u64{64} << 20;
  if (options.reserve.value_or(0) > most_reserve) return usage_error("--reserve must be at most 64M");
  return {};
}

std::vector<std::string> inputs_of(const StPlan& plan) {
  std::vector<std::string> inputs;
  for (const safetensors::ShardFile& file : plan.edited.set().files) inputs.push_back(file.path);
  return inputs;
}

// The values of the tensors that are not copied as they are.
Status stream(StPlan& plan, std::span<AtomicOutput> outputs, unsigned threads, Progress& progress) {
  const EncodeRows encode = [&](std::size_t i, u64 first, u64 count, const EncodedParts& out, unsigned /*thread*/,
                                ValueSums* error) {
    const EditedTensor& tensor = plan.edited.tensors[plan.encoded[i]];
    const bool has_rows = tensor.merge != nullptr || tensor.decoded != nullptr;
    const u64 columns = has_rows ? std::max<u64>(tensor.columns(), 1) : 1;
    return encode_tensor(plan.edited, tensor, first * columns, count * columns, out[0], error);
  };
  MU_ASSIGN(const std::vector<ValueSums> errors,
            write_planned(plan, plan.copied_from, outputs, threads, encode, progress));
  std::map<std::string_view, TensorReport*> reports;
  if (std::ranges::any_of(plan.stream, &StreamTensor::is_measured)) {
    for (TensorReport& report : plan.edited.report.tensors) reports[report.name] = &report;
  }
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!plan.stream[i].is_measured) continue;
    TensorReport& report = *reports.at(plan.edited.tensors[plan.encoded[i]].name);
    report.rms = errors[i].rms();
    report.max_abs = errors[i].max_abs;
    report.exact = errors[i].dd == 0 && errors[i].max_abs == 0;
  }
  return {};
}

Status write_single(StPlan& plan, const StEditOptions& options, Progress& progress) {
  MU_TRY(check_free_space(options.output, plan.bytes()));
  MU_ASSIGN(AtomicOutput file, AtomicOutput::create(options.output, {options.force, inputs_of(plan)}));
  MU_TRY(stream(plan, {&file, 1}, options.threads, progress));
  progress.finish();
  if (options.deliver) MU_TRY(options.deliver(plan.edited.report));
  return file.commit();
}

Status write_text(const std::string& text, AtomicOutput& output) {
  MU_TRY(output.append(std::as_bytes(std::span(text))));
  return check_written(output, text, text.size());
}

Status write_files(StPlan& plan, const StEditOptions& options, AtomicDirectory& directory, Progress& progress) {
  std::vector<AtomicOutput> files;
  for (const PlannedFile& file : plan.files) {
    MU_ASSIGN(AtomicOutput output, directory.create_file(file.path));
    output.pause();  // limits the number of open files
    files.push_back(std::move(output));
  }
  MU_TRY(stream(plan, files, options.threads, progress));
  if (!plan.index.empty()) {
    MU_ASSIGN(AtomicOutput output, directory.create_file(index_name));
    MU_TRY(write_text(plan.index, output));
    files.push_back(std::move(output));
  }
  for (const std::string& name : plan.copied) {
    MU_ASSIGN(AtomicOutput output, directory.create_file(name));
    const hf::ConfigEdit* changed = plan.edited.changed_text(name);
    MU_TRY(changed != nullptr ? write_text(changed->text(), output) : copy_side_file(plan, name, output));
    plan.edited.report.files.push_back({name, output.appended(), 0});
    if (files.size() > 8) MU_TRY(output.finish());
    files.push_back(std::move(output));
  }
  progress.finish();
  return directory.close_files(files);
}

// True if the folder holds a model, so that --force may replace its weights.
bool is_model_directory(const std::string& path) {
  return os::is_folder(path) && (is_present(path + "/config.json") || safetensors::is_model_folder(path));
}

DirectoryOptions directory_options(const StPlan& plan, const StEditOptions& options) {
  DirectoryOptions output;
  output.force = options.force;
  output.inputs = inputs_of(plan);
  if (plan.edited.file_count == 1 && !plan.edited.is_directory()) {
    output.or_file = ", or name a file FILE.safetensors";
  }
  const bool is_model = is_model_directory(options.output);
  output.is_ours = [is_model](std::string_view) { return is_model; };
  output.is_kept = [](std::string_view name) {
    return name.find('/') != name.npos || (!name.ends_with(".safetensors") && !safetensors::is_index_name(name));
  };
  return output;
}

Status write_directory(StPlan& plan, const StEditOptions& options, Progress& progress) {
  MU_TRY(check_free_space(options.output, plan.bytes()));
  MU_ASSIGN(AtomicDirectory directory, AtomicDirectory::create(options.output, directory_options(plan, options)));
  if (Status written = write_files(plan, options, directory, progress); !written) {
    return tl::make_unexpected(directory.under_final_name(std::move(written.error())));
  }
  if (options.deliver) MU_TRY(options.deliver(plan.edited.report));
  return directory.commit();
}

// Remarks in a dry run that the output could not be created.
void remark_output(StPlan& plan, const StEditOptions& options) {
  if (options.output.empty()) return;
  const Status free = plan.to_directory ? AtomicDirectory::check(options.output, directory_options(plan, options))
                                        : AtomicOutput::check(options.output, {options.force, inputs_of(plan)});
  if (free) return;
  Finding remark = without_path(free.error(), Scope::model);
  remark.severity = Severity::warning;
  remark.where = options.output;
  plan.edited.report.remarks.add(std::move(remark));
}

}  // namespace

Result<std::unique_ptr<StPlan>> plan_st_edit(const StEditOptions& options) {
  auto made = std::make_unique<StPlan>();
  StPlan& plan = *made;
  MU_ASSIGN(plan.edited, open_edited_set({options.input, options.links, options.ignore_index}));
  StReport& report = plan.edited.report;
  report.kind = options.is_pt2st ? ReportKind::pt2st : ReportKind::st_edit;
  report.input = options.input;
  report.output = options.output;
  report.dry_run = options.dry_run;
  plan.edited.force = options.force;
  MU_TRY(apply_operations(plan.edited, options.operations));
  const safetensors::ShardSet& set = plan.edited.set();
  const bool is_file = options.output.ends_with(".safetensors") || is_pipe(options.output);
  // Checkpoints of several files become a directory of safetensors, even if OUT ends in ".safetensors".
  plan.to_directory = !is_file || (set.has_checkpoints && !options.single && !is_pipe(options.output) &&
                                   (set.is_directory || plan.edited.file_count > 1));
  if (!plan.to_directory && options.max_shard_size) {
    return usage_error("--max-shard-size needs a directory as output");
  }
  MU_TRY(lay_out(plan, options));
  if (plan.edited.is_directory() && plan.to_directory && !options.weights_only) MU_TRY(list_side_files(plan));
  return made;
}

Result<StReport> st_edit(const StEditOptions& options, Progress& progress) {
  MU_TRY(check_options(options));
  auto planned = plan_st_edit(options);
  if (!planned) {
    Error& error = planned.error();
    if (error.kind == ErrorKind::input && error.file.empty()) error.file = options.input;
    return tl::make_unexpected(std::move(error));
  }
  StPlan& plan = **planned;
  if (options.dry_run) {
    remark_output(plan, options);
    return std::move(plan.edited.report);
  }
  progress.restart("writing", plan.bytes());
  Status written = plan.to_directory ? write_directory(plan, options, progress) : write_single(plan, options, progress);
  if (!written) {
    Error& error = written.error();
    if (error.kind == ErrorKind::input && error.file.empty()) error.file = options.input;
    return tl::make_unexpected(std::move(error));
  }
  return std::move(plan.edited.report);
}

}  // namespace modelutils::to_safetensors
