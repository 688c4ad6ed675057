#include "to_safetensors/checkpoint_to_safetensors.h"

#include <fmt/core.h>

#include "io/atomic_directory.h"
#include "io/check_written.h"
#include "io/free_space.h"
#include "io/random_access_file.h"
#include "to_safetensors/checkpoint_plan.h"
#include "transfer/stream.h"
#include "transfer/value_sums.h"

namespace modelutils::to_safetensors {

namespace {

constexpr u64 chunk_bytes = u64{1} << 20;
constexpr u64 most_side_file = u64{1} << 30;

// Copies the tensors' bytes.
Status stream(const CheckpointPlan& plan, std::span<AtomicOutput> outputs, unsigned threads, Progress& progress) {
  std::vector<StreamFile> files;
  std::vector<StreamTensor> tensors;
  std::vector<safetensors::TensorRef> sources;
  for (std::size_t f = 0; f < plan.files.size(); ++f) {
    const PlannedCheckpointFile& file = plan.files[f];
    files.push_back({&outputs[f], file.layout.header, file.layout.file_size});
    for (std::size_t i = 0; i < file.tensors.size(); ++i) {
      const auto [begin, end] = file.layout.offsets[i];
      StreamTensor tensor;
      tensor.file = f;
      tensor.rows = end - begin;
      tensor.parts[0] = {file.layout.header.size() + begin, 1};
      tensors.push_back(tensor);
      sources.push_back(file.tensors[i]);
    }
  }
  const EncodeRows copy = [&](std::size_t i, u64 first, u64 /*count*/, const EncodedParts& out, unsigned /*thread*/,
                              ValueSums* /*error*/) {
    const safetensors::ShardFile& source = plan.set().file(sources[i]);
    return source.source->read_exact(source.document.data_offset + plan.set().tensor(sources[i]).begin + first, out[0]);
  };
  MU_TRY(stream_tensors(files, tensors, threads, copy, progress));
  return {};
}

u64 bytes_of_files(const CheckpointPlan& plan) {
  u64 bytes = 0;
  for (const PlannedCheckpointFile& file : plan.files) bytes += file.layout.file_size;
  return bytes;
}

std::vector<std::string> inputs_of(const CheckpointPlan& plan) {
  std::vector<std::string> inputs;
  for (const safetensors::ShardFile& file : plan.set().files) inputs.push_back(file.path);
  return inputs;
}

Status write_single(const CheckpointPlan& plan, const CheckpointOptions& options, Progress& progress) {
  MU_TRY(check_free_space(options.output, bytes_of_files(plan)));
  MU_ASSIGN(AtomicOutput file, AtomicOutput::create(options.output, {options.force, inputs_of(plan)}));
  if (!file.is_seekable()) return usage_error("-o FILE.safetensors must be a file, not a pipe or device");
  MU_TRY(stream(plan, {&file, 1}, options.threads, progress));
  progress.finish();
  const safetensors::OutLayout& layout = plan.files.front().layout;
  MU_TRY(check_written(file, layout.header, layout.file_size));
  if (options.deliver) MU_TRY(options.deliver(plan.report));
  return file.commit();
}

Status copy_side_file(const CheckpointPlan& plan, const std::string& name, AtomicOutput& to) {
  MU_ASSIGN(const FolderFile from, open_in_folder(plan.set().folder, name));
  const u64 size = from.file->file_size();
  if (size > most_side_file) {
    return input_error("pt2st-input", fmt::format("has {} bytes, too many for a file next to the weights", size), {},
                       {}, plan.set().folder + name);
  }
  std::vector<std::byte> buffer(std::min(size, chunk_bytes));
  for (u64 at = 0; at < size; at += buffer.size()) {
    const MutableBytes piece = MutableBytes(buffer).first(std::min<u64>(buffer.size(), size - at));
    MU_TRY(from.file->read_exact(at, piece));
    MU_TRY(to.append(piece));
  }
  return {};
}

Status write_files(CheckpointPlan& plan, const CheckpointOptions& options, AtomicDirectory& directory,
                   Progress& progress) {
  std::vector<AtomicOutput> files;
  for (const PlannedCheckpointFile& file : plan.files) {
    MU_ASSIGN(AtomicOutput output, directory.create_file(file.name));
    output.pause();  // limits the number of open files
    files.push_back(std::move(output));
  }
  MU_TRY(stream(plan, files, options.threads, progress));
  for (std::size_t i = 0; i < files.size(); ++i) {
    const safetensors::OutLayout& layout = plan.files[i].layout;
    MU_TRY(check_written(files[i], layout.header, layout.file_size));
  }
  if (!plan.index.empty()) {
    MU_ASSIGN(AtomicOutput output, directory.create_file("model.safetensors.index.json"));
    MU_TRY(output.append(std::as_bytes(std::span(plan.index))));
    MU_TRY(check_written(output, plan.index, plan.index.size()));
    files.push_back(std::move(output));
  }
  for (const std::string& name : plan.copied) {
    MU_ASSIGN(AtomicOutput output, directory.create_file(name));
    MU_TRY(copy_side_file(plan, name, output));
    plan.report.files.push_back({name, output.appended(), 0});
    files.push_back(std::move(output));
  }
  progress.finish();
  return directory.close_files(files);
}

Status write_directory(CheckpointPlan& plan, const CheckpointOptions& options, Progress& progress) {
  DirectoryOptions output;
  output.force = options.force;
  output.inputs = inputs_of(plan);
  output.is_ours = [&](std::string_view name) {
    return name.ends_with(".safetensors") || name.ends_with(".json") || std::ranges::count(plan.copied, name) > 0;
  };
  MU_TRY(check_free_space(options.output, bytes_of_files(plan)));
  MU_ASSIGN(AtomicDirectory directory, AtomicDirectory::create(options.output, output));
  if (Status written = write_files(plan, options, directory, progress); !written) {
    return tl::make_unexpected(directory.under_final_name(std::move(written.error())));
  }
  if (options.deliver) MU_TRY(options.deliver(plan.report));
  return directory.commit();
}

}  // namespace

Result<TransferReport> checkpoint_to_safetensors(const CheckpointOptions& options, Progress& progress) {
  if (options.output.empty() && !options.dry_run) return usage_error("-o FILE.safetensors or DIR is missing");
  if (options.output == "-") return usage_error("-o names a file or directory; it cannot be standard output");
  if (options.shard_size == 0) return usage_error("--shard-size must be at least 1");
  MU_ASSIGN(CheckpointPlan plan, plan_checkpoint(options));
  if (options.dry_run) return std::move(plan.report);
  progress.restart("writing", bytes_of_files(plan));
  MU_TRY(plan.to_directory ? write_directory(plan, options, progress) : write_single(plan, options, progress));
  return std::move(plan.report);
}

}  // namespace modelutils::to_safetensors
