#include "convert/to_directory/gguf_to_mlx.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "convert/to_directory/plan.h"
#include "convert/transfer/report.h"
#include "io/atomic_directory.h"
#include "io/atomic_output.h"
#include "io/output_place.h"
#include "rules/formats.h"
#include "tensor/value_sums.h"

namespace modelutils::to_directory {

namespace {

Status check_directory_options(const GgufToMlxOptions& options) {
  if (options.output.empty() && !options.dry_run) return usage_error("-o DIR is missing");
  if (options.output == "-") return usage_error("-o names a directory; it cannot be standard output");
  if (options.shard_size == 0) return usage_error("--shard-size must be at least 1");
  if (options.raw_names && !options.forms.dequantize) return usage_error("--raw-names needs --dequantize");
  if (options.forms.dequantize && options.forms.fallback) {
    return usage_error("--fallback has no effect with --dequantize");
  }
  if (options.forms.dequantize && options.forms.scales) return usage_error("--scales has no effect with --dequantize");
  if (options.no_tokenizer && !options.pre.empty()) return usage_error("--pre has no effect with --no-tokenizer");
  if (options.raw_names && !options.projector.empty()) return usage_error("--mmproj has no effect with --raw-names");
  if (options.raw_names && !options.model_type.empty()) {
    return usage_error("--model-type has no effect with --raw-names");
  }
  return {};
}

OutputOptions file_options(const DirectoryPlan& plan, const GgufToMlxOptions& options) {
  OutputOptions output;
  output.force = options.force;
  for (const gguf::SetFile& file : plan.source.gguf->files) output.inputs.push_back(file.path);
  return output;
}

DirectoryOptions directory_options(const DirectoryPlan& plan, const GgufToMlxOptions& options) {
  DirectoryOptions output;
  output.force = options.force;
  output.is_ours = is_name_of_ours;
  for (const gguf::SetFile& file : plan.source.gguf->files) output.inputs.push_back(file.path);
  return output;
}

// Adds a warning if the output could not be created.
void remark_output(DirectoryPlan& plan, const GgufToMlxOptions& options) {
  if (options.output.empty()) return;
  const Status free = plan.is_file ? AtomicOutput::check(options.output, file_options(plan, options))
                                   : AtomicDirectory::check(options.output, directory_options(plan, options));
  if (free) return;
  Finding remark = without_path(free.error(), Scope::model);
  remark.severity = Severity::warning;
  remark.where = options.output;
  plan.report.remarks.add(std::move(remark));
}

// Reads the written directory like any other model and checks it. `input` is the source file, for messages.
Status check_directory(const AtomicDirectory& directory, bool has_config, const std::string& input) {
  const auto bug = [](Error error) {
    error.kind = ErrorKind::internal;
    error.message = fmt::format("what was written breaks a rule ({}): {}", error.code, error.message);
    error.code = "convert-self-check";
    return tl::make_unexpected(std::move(error));
  };
  Result<PathProbe> probe = probe_path(directory.staging_path());
  if (!probe) return bug(probe.error());
  if (!probe->format) return bug(unknown_format(*probe));
  Result<Model> model = open_model(std::move(*probe));
  if (!model) return bug(model.error());
  Result<CheckedModel> checked = rules_of(model->format).check(*model, 1);
  if (!checked) return bug(checked.error());
  for (const Finding& finding : checked->findings.findings()) {
    if (finding.severity != Severity::error || finding.scope == Scope::data) continue;
    if (!has_config && finding.scope != Scope::container) continue;
    if (finding.code == "hf-tokenizer-missing") continue;
    if (finding.scope == Scope::container) return bug(finding);
    // Per-layer keys can express what a single member or a pattern in config.json cannot.
    return input_error(
        "convert-reverse",
        fmt::format("would contradict config.json, which cannot express all of the keys: {}", finding.message),
        finding.where, {}, input);
  }
  return {};
}

Status write_tokenizer(const DirectoryPlan& plan, AtomicDirectory& directory, std::vector<AtomicOutput>& files) {
  if (!plan.tokenizer) return {};
  for (const std::string_view name : plan.tokenizer->file_names()) {
    MU_ASSIGN(AtomicOutput file, directory.create_file(name));
    Status written;
    plan.tokenizer->write_file(name, [&](std::string_view piece) {
      if (written) written = file.append(std::as_bytes(std::span(piece)));
    });
    MU_TRY(std::move(written));
    files.push_back(std::move(file));
  }
  return {};
}

// Writes headers and tensors of all shards. Adds measured errors to the report.
Status stream(DirectoryPlan& plan, std::span<AtomicOutput> outputs, unsigned threads, Progress& progress) {
  struct Worker {
    std::size_t tensor = ~std::size_t{0};
    std::unique_ptr<DirectoryEncoder> encoder;
  };
  std::vector<Worker> workers(std::max(threads, 1u));
  const EncodeRows encode = [&](std::size_t i, u64 first, u64 count, const EncodedParts& out, unsigned thread,
                                ValueSums* error) {
    Worker& worker = workers[thread];
    if (worker.tensor != i) {
      worker.encoder = std::make_unique<DirectoryEncoder>(plan.source.catalog(), plan.map.tensors[i], plan.forms[i]);
      worker.tensor = i;
    }
    return worker.encoder->encode(first, count, {out[0], out[1], out[2]}, error);
  };
  MU_ASSIGN(const std::vector<ValueSums> errors, write_planned(plan, outputs, threads, encode, progress));
  for (std::size_t i = 0; i < errors.size(); ++i) {
    TensorReport& report = plan.report.tensors[i];
    if (report.exact) continue;
    report.rms = errors[i].rms();
    report.exact = errors[i].dd == 0 && errors[i].max_abs == 0;
    if (*report.exact) report.reason.clear();
  }
  return {};
}

// Writes all files; the directory keeps its temporary name.
Status write_files(DirectoryPlan& plan, const GgufToMlxOptions& options, AtomicDirectory& directory,
                   Progress& progress) {
  std::vector<AtomicOutput> files;
  files.reserve(plan.report.files.size());
  for (const PlannedFile& shard : plan.files) {
    MU_ASSIGN(AtomicOutput file, directory.create_file(shard.path));
    file.pause();  // there may be more shards than the process may open files
    files.push_back(std::move(file));
  }
  MU_TRY(stream(plan, files, options.threads, progress));
  for (const auto& [name, content] : plan.side_files) {
    MU_ASSIGN(AtomicOutput file, directory.create_file(name));
    MU_TRY(file.append(std::as_bytes(std::span(content))));
    files.push_back(std::move(file));
  }
  MU_TRY(write_tokenizer(plan, directory, files));
  progress.finish();
  MU_TRY(directory.close_files(files));
  const bool has_config =
      std::ranges::any_of(plan.side_files, [](const auto& file) { return file.first == "config.json"; });
  return check_directory(directory, has_config, options.input);
}

Status write_directory(DirectoryPlan& plan, const GgufToMlxOptions& options, Progress& progress) {
  MU_ASSIGN(AtomicDirectory directory, AtomicDirectory::create(options.output, directory_options(plan, options)));
  progress.restart("writing", plan.report.bytes());
  if (Status written = write_files(plan, options, directory, progress); !written) {
    return tl::make_unexpected(directory.under_final_name(std::move(written.error())));
  }
  if (options.deliver) MU_TRY(options.deliver(plan.report));
  return directory.commit();
}

Status write_single(DirectoryPlan& plan, const GgufToMlxOptions& options, Progress& progress) {
  MU_ASSIGN(AtomicOutput file, AtomicOutput::create(options.output, file_options(plan, options)));
  if (!file.is_seekable()) return usage_error("-o FILE.safetensors must be a file, not a pipe or device");
  progress.restart("writing", plan.report.bytes());
  MU_TRY(stream(plan, {&file, 1}, options.threads, progress));
  progress.finish();
  if (options.deliver) MU_TRY(options.deliver(plan.report));
  return file.commit();
}

}  // namespace

Result<TransferReport> gguf_to_mlx(const GgufToMlxOptions& options, Progress& progress) {
  MU_TRY(check_directory_options(options));
  Result<DirectoryPlan> planned = plan_directory(options);
  if (!planned) {
    Error& error = planned.error();
    if (error.kind == ErrorKind::input && error.file.empty()) error.file = options.input;
    return tl::make_unexpected(std::move(error));
  }
  DirectoryPlan plan = std::move(*planned);
  if (options.dry_run) {
    remark_output(plan, options);
    return std::move(plan.report);
  }
  MU_TRY(check_free_space(options.output, plan.report.bytes()));
  MU_TRY(plan.is_file ? write_single(plan, options, progress) : write_directory(plan, options, progress));
  return std::move(plan.report);
}

}  // namespace modelutils::to_directory
