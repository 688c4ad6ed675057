#include "convert/to_gguf/mlx_to_gguf.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "convert/to_gguf/plan.h"
#include "convert/to_gguf/projector_map.h"
#include "convert/transfer/report.h"
#include "io/output_place.h"
#include "io/remote_address.h"
#include "model/listing/model_facts.h"
#include "tensor/value_sums.h"

namespace modelutils::to_gguf {

namespace {

// Returns every file that may be read. The output must not be one of them.
Result<std::vector<std::string>> input_files(const GgufPlan& plan) {
  if (plan.image) return plan.image->inputs;
  const HfModel& model = *plan.model;
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
  MU_ASSIGN(std::vector<std::string> inputs, input_files(plan));
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
    if (plan.files.size() > 1) output.pause();  // there may be more outputs than the process may open files
    outputs.push_back(std::move(output));
  }
  return outputs;
}

// The options for the projector that is written next to a language model.
MlxToGgufOptions options_of_projector(const MlxToGgufOptions& options) {
  MlxToGgufOptions own = options;
  own.projector = true;
  own.output = std::exchange(own.with_projector, {});
  own.split_max_size = std::nullopt;
  own.adapters.clear();
  own.repack.fallback = TensorType::F32;
  return own;
}

// Returns the first plan's report, extended by the files that the other plans write.
TransferReport joined_report(std::vector<GgufPlan>& plans) {
  TransferReport report = std::move(plans.front().report);
  for (std::size_t i = 1; i < plans.size(); ++i) {
    TransferReport& other = plans[i].report;
    std::ranges::move(other.files, std::back_inserter(report.files));
    std::ranges::move(other.tensors, std::back_inserter(report.tensors));
    report.remarks.add_all(other.remarks);
  }
  return report;
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

Result<GgufPlan> plan_projector_beside(const MlxToGgufOptions& options, std::shared_ptr<const Model> opened) {
  const std::string& path = options.with_projector;
  if (is_standard_output(path) ? is_standard_output(options.output)
                               : output_place(path) == output_place(options.output)) {
    return usage_error(fmt::format("two outputs have the same name: {}", path));
  }
  MU_ASSIGN(GgufPlan plan, plan_gguf(options_of_projector(options), std::move(opened)));
  MU_TRY(check_plan(plan, false));
  return plan;
}

namespace {

// Writes tensors in the order in which a pipe delivers them. `order` has their indices.
Result<std::vector<ValueSums>> write_in_order(const GgufPlan& plan, std::span<const std::size_t> order,
                                              std::span<AtomicOutput> outputs, unsigned threads,
                                              const EncodeRows& encode, Progress& progress) {
  struct Taken {
    std::vector<std::byte> rows;
    ValueSums error;
  };
  Plan in_order{plan.files, {}};
  for (const std::size_t i : order) in_order.stream.push_back(plan.stream[i]);
  std::vector<Taken> taken(std::max(threads, 1u));
  const TakeRows take = [&](std::size_t i, u64 first, u64 count, unsigned thread) {
    Taken& own = taken[thread];
    own.rows.resize(static_cast<std::size_t>(count * in_order.stream[i].parts[0].row_bytes));
    own.error = {};
    EncodedParts out;
    out[0] = own.rows;
    return encode(order[i], first, count, out, thread, in_order.stream[i].is_measured ? &own.error : nullptr);
  };
  const EncodeRows copy = [&](std::size_t, u64, u64, const EncodedParts& out, unsigned thread, ValueSums* error) {
    std::ranges::copy(taken[thread].rows, out[0].begin());
    if (error != nullptr) error->add(taken[thread].error);
    return Status();
  };
  MU_ASSIGN(const std::vector<ValueSums> errors, write_planned(in_order, outputs, threads, copy, progress, take));
  std::vector<ValueSums> sorted(errors.size());
  for (std::size_t i = 0; i < errors.size(); ++i) sorted[order[i]] = errors[i];
  return sorted;
}

}  // namespace

// Measures errors for inexact tensors, whose exact values are at hand anyway.
Status write_gguf(GgufPlan& plan, std::span<AtomicOutput> outputs, unsigned threads, Progress& progress) {
  std::vector<StoredRows> scratch(std::max(threads, 1u));
  const EncodeRows encode = [&](std::size_t i, u64 first, u64 count, const EncodedParts& out, unsigned thread,
                                ValueSums* error) {
    return encode_rows(*plan.model, plan.map.tensors[i], plan.forms[i], first, count, out[0], scratch[thread], error);
  };
  const bool is_pipe = plan.image && !plan.image->only_order.empty();
  MU_ASSIGN(const std::vector<ValueSums> errors,
            is_pipe ? write_in_order(plan, plan.image->only_order, outputs, threads, encode, progress)
                    : write_planned(plan, outputs, threads, encode, progress));
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!plan.stream[i].is_measured) continue;
    plan.report.tensors[i].rms = errors[i].rms();
    plan.report.tensors[i].max_abs = errors[i].max_abs;
  }
  return {};
}

Result<TransferReport> mlx_to_gguf(const MlxToGgufOptions& options, Progress& progress) {
  MU_TRY(check_options(options));
  std::vector<GgufPlan> plans;
  MU_ASSIGN(plans.emplace_back(), plan_gguf(options));
  MU_TRY(check_plan(plans.front(), !options.no_vocab));
  if (plans.front().image && is_standard_output(options.output)) {
    const std::vector<MappedTensor>& tensors = plans.front().map.tensors;
    MU_TRY(check_pipe_order(plans.front().image->only_order, options.directory,
                            [&](std::size_t i) { return std::string_view(tensors[i].name); }));
  }
  if (!options.with_projector.empty()) {
    MU_ASSIGN(plans.emplace_back(), plan_projector_beside(options, plans.front().model->model));
  }
  u64 bytes = 0;
  for (GgufPlan& plan : plans) {
    if (options.dry_run) MU_TRY(remark_outputs(plan, options));
    bytes += plan.bytes();
  }
  if (options.dry_run) return joined_report(plans);
  std::vector<std::vector<AtomicOutput>> outputs;
  for (const GgufPlan& plan : plans) {
    MU_ASSIGN(outputs.emplace_back(), create_outputs(plan, options));
  }
  progress.restart("writing", bytes);
  for (std::size_t i = 0; i < plans.size(); ++i) MU_TRY(write_gguf(plans[i], outputs[i], options.threads, progress));
  progress.finish();
  TransferReport report = joined_report(plans);
  if (options.deliver) MU_TRY(options.deliver(report));
  for (std::size_t i = 1; i < outputs.size(); ++i) std::ranges::move(outputs[i], std::back_inserter(outputs.front()));
  MU_TRY(AtomicOutput::commit_all(outputs.front()));
  return report;
}

Result<GgufPlan> plan_without_vocabulary(const std::string& directory) {
  MlxToGgufOptions options;
  options.directory = directory;
  options.output = "planned.gguf";
  options.no_vocab = true;
  options.is_folder = true;
  options.links = OutsideLinks::warn;  // a plan copies nothing from linked files into an output
  options.dry_run = true;
  return plan_gguf(options);
}

std::vector<TowerFacts> towers_of(const Model& opened) {
  if (!has_towers(opened)) return {};
  MlxToGgufOptions options;
  options.directory = opened.path();
  options.output = "planned.gguf";
  options.projector = true;
  options.dry_run = true;
  const auto plan = plan_gguf(options, std::shared_ptr<const Model>(std::shared_ptr<void>(), &opened));
  return plan ? tower_facts(*plan->target.gguf) : std::vector<TowerFacts>();
}

}  // namespace modelutils::to_gguf
