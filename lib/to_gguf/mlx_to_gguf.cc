#include "to_gguf/mlx_to_gguf.h"

#include <filesystem>
#include <mutex>

#include "base/path.h"
#include "io/atomic_output.h"
#include "to_gguf/plan.h"
#include "to_gguf/self_check.h"

namespace modelutils::convert {

namespace {

// Everything in the directory that is read: an output must be none of it.
Result<std::vector<std::string>> input_files(const HfModel& model) {
  std::vector<std::string> files = {model.config.path};
  for (const safetensors::ShardFile& shard : model.shards.files) files.push_back(shard.path);
  std::error_code error;
  std::filesystem::directory_iterator entry(model.directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    files.push_back(entry->path().string());
  }
  if (error) return input_error("io-open", "cannot be listed: " + error.message(), {}, {}, model.directory);
  return files;
}

Result<OutputOptions> output_options(const GgufPlan& plan, const MlxToGgufOptions& options) {
  MU_ASSIGN(std::vector<std::string> inputs, input_files(*plan.model));
  return OutputOptions{.force = options.force, .inputs = std::move(inputs), .binary = true};
}

// What would be in the way of the outputs, as warnings.
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
  return {};
}

Result<std::vector<AtomicOutput>> create_outputs(const GgufPlan& plan, const MlxToGgufOptions& options) {
  MU_ASSIGN(const OutputOptions create_options, output_options(plan, options));
  std::vector<AtomicOutput> outputs;
  outputs.reserve(plan.files.size());
  for (const PlannedFile& file : plan.files) {
    MU_ASSIGN(AtomicOutput output, AtomicOutput::create(file.path, create_options));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

class Streamer {
 public:
  Streamer(GgufPlan& plan, const MlxToGgufOptions& options, Progress& progress)
      : plan_(plan), options_(options), progress_(progress), scratch_(std::max(options.threads, 1u)) {}

  Status stream(std::size_t number, AtomicOutput& output) {
    const PlannedFile& file = plan_.files[number];
    const EncodeRows encode = [&](std::size_t tensor, u64 first, u64 count, MutableBytes out, unsigned thread) {
      return encode_one(file.first_tensor + tensor, first, count, out, thread);
    };
    return stream_gguf(output, file.layout, file.stream, std::max(options_.threads, 1u), encode, progress_);
  }

 private:
  // Errors are measured while the exact values are at hand anyway: for tensors that are not exact.
  Status encode_one(std::size_t index, u64 first, u64 count, MutableBytes out, unsigned thread) {
    const TensorRecipe& recipe = plan_.recipes[index];
    MeasuredError error;
    MU_TRY(encode_rows(*plan_.model, plan_.map.tensors[index], recipe, first, count, out, scratch_[thread],
                       recipe.exact ? nullptr : &error));
    if (!recipe.exact) {
      const std::lock_guard lock(mutex_);
      plan_.report.tensors[index].measured = true;
      plan_.report.tensors[index].error.add(error);
    }
    return {};
  }

  GgufPlan& plan_;
  const MlxToGgufOptions& options_;
  Progress& progress_;
  std::vector<StoredRows> scratch_;
  std::mutex mutex_;
};

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

Result<ConversionReport> mlx_to_gguf(const MlxToGgufOptions& given, Progress& progress) {
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
  progress.restart("writing", plan.total_bytes());
  Streamer streamer(plan, options, progress);
  for (std::size_t i = 0; i < outputs.size(); ++i) MU_TRY(streamer.stream(i, outputs[i]));
  progress.finish();
  MU_TRY(check_written(plan, outputs, !options.no_vocab));
  if (options.deliver) MU_TRY(options.deliver(plan.report));
  MU_TRY(AtomicOutput::commit_all(outputs));
  return std::move(plan.report);
}

}  // namespace modelutils::convert
