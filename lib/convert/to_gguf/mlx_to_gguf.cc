#include "convert/to_gguf/mlx_to_gguf.h"

#include <algorithm>
#include <cerrno>

#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "convert/to_gguf/plan.h"
#include "convert/transfer/report.h"
#include "io/output_place.h"
#include "io/remote_address.h"

namespace modelutils::to_gguf {

namespace {

// Returns every file of the directory that may be read. The output must not be one of them.
Result<std::vector<std::string>> input_files(const HfModel& model) {
  std::vector<std::string> files = {model.config.path};
  for (const safetensors::ShardFile& shard : model.opened().set.files) files.push_back(shard.path);
  if (is_address(model.directory)) return files;
  const auto add = [&](std::string_view name, os::EntryKind) {
    files.push_back(path_in(model.directory, name));
    return true;
  };
  if (!os::list(model.directory, add)) {
    return input_error("io-open", "cannot be listed: " + errno_text(errno), {}, {}, model.directory);
  }
  return files;
}

Result<OutputOptions> output_options(const GgufPlan& plan, const MlxToGgufOptions& options) {
  MU_ASSIGN(std::vector<std::string> inputs, input_files(*plan.model));
  return OutputOptions{.force = options.force, .inputs = std::move(inputs), .binary = true};
}

// Adds a warning for each problem that writing the outputs would run into.
Status remark_outputs(GgufPlan& plan, const MlxToGgufOptions& options) {
  MU_ASSIGN(const OutputOptions output, output_options(plan, options));
  for (const PlannedFile& file : plan.files) {
    if (file.path.empty()) continue;
    if (const Status free = AtomicOutput::check(file.path, output); !free) {
      Finding remark = without_path(free.error(), Scope::model);
      remark.severity = Severity::warning;
      remark.where = file.path;
      plan.report.remarks.add(std::move(remark));
    }
  }
  if (plan.files.empty()) return {};
  if (const Status room = check_free_space(plan.files.front().path, plan.bytes()); !room) {
    Finding remark = without_path(room.error(), Scope::model);
    remark.severity = Severity::warning;
    remark.where = plan.files.front().path;
    plan.report.remarks.add(std::move(remark));
  }
  return {};
}

Result<std::vector<AtomicOutput>> create_outputs(const GgufPlan& plan, const MlxToGgufOptions& options) {
  MU_ASSIGN(const OutputOptions create_options, output_options(plan, options));
  if (!plan.files.empty()) MU_TRY(check_free_space(plan.files.front().path, plan.bytes()));
  std::vector<AtomicOutput> outputs;
  outputs.reserve(plan.files.size());
  for (const PlannedFile& file : plan.files) {
    MU_ASSIGN(AtomicOutput output, AtomicOutput::create(file.path, create_options));
    if (plan.files.size() > 1) output.pause();  // there may be more outputs than files may be open
    outputs.push_back(std::move(output));
  }
  return outputs;
}

// Streams all tensors. Measures errors for inexact tensors, whose exact values are at hand anyway.
Status stream(GgufPlan& plan, std::vector<AtomicOutput>& outputs, unsigned threads, Progress& progress) {
  std::vector<StoredRows> scratch(std::max(threads, 1u));
  const EncodeRows encode = [&](std::size_t i, u64 first, u64 count, const EncodedParts& out, unsigned thread,
                                ValueSums* error) {
    return encode_rows(*plan.model, plan.map.tensors[i], plan.forms[i], first, count, out[0], scratch[thread], error);
  };
  MU_ASSIGN(const std::vector<ValueSums> errors, write_planned(plan, outputs, threads, encode, progress));
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!plan.stream[i].is_measured) continue;
    plan.report.tensors[i].rms = errors[i].rms();
    plan.report.tensors[i].max_abs = errors[i].max_abs;
  }
  return {};
}

Status check_options(const MlxToGgufOptions& options) {
  if (options.split_max_size && is_standard_output(options.output)) {
    return usage_error("--split-max-size cannot be combined with -o -");
  }
  if (options.split_max_size == u64{0}) return usage_error("--split-max-size must be at least 1");
  if (!options.pre.empty() && !options.pre_force.empty())
    return usage_error("--pre and --pre-force cannot be combined");
  if (options.no_vocab && !(options.pre.empty() && options.pre_force.empty())) {
    return usage_error("--pre and --pre-force have no effect with --no-vocab");
  }
  return {};
}

}  // namespace

Result<TransferReport> mlx_to_gguf(const MlxToGgufOptions& given, Progress& progress) {
  MU_TRY(check_options(given));
  MlxToGgufOptions options = given;
  if (options.directory.ends_with(".safetensors.index.json")) {
    options.directory = folder_of(options.directory);
    if (options.directory.empty()) options.directory = ".";
  }
  MU_ASSIGN(GgufPlan plan, plan_gguf(options));
  MU_TRY(check_plan(plan, !options.no_vocab));
  if (options.dry_run) {
    MU_TRY(remark_outputs(plan, options));
    return std::move(plan.report);
  }
  MU_ASSIGN(std::vector<AtomicOutput> outputs, create_outputs(plan, options));
  progress.restart("writing", plan.bytes());
  MU_TRY(stream(plan, outputs, options.threads, progress));
  progress.finish();
  if (options.deliver) MU_TRY(options.deliver(plan.report));
  MU_TRY(AtomicOutput::commit_all(outputs));
  return std::move(plan.report);
}

}  // namespace modelutils::to_gguf
