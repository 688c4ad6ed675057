#include "convert/to_gguf/file_layout.h"

#include <fmt/core.h>

#include <string>

#include "base/text.h"
#include "base/types.h"
#include "convert/to_gguf/rows.h"
#include "formats/gguf/write.h"
#include "tensor/types.h"

namespace modelutils::to_gguf {

namespace {

constexpr u64 alignment = 32;  // fixed: the parts of a split model carry no general.alignment key

// Returns the first tensor of each file. A file takes as many tensors as fit the limit, but at least one.
std::vector<std::size_t> file_starts(const GgufPlan& plan, const MlxToGgufOptions& options) {
  std::vector<std::size_t> starts = {0};
  if (!options.split_max_size) return starts;
  u64 size = 0;
  for (std::size_t i = 0; i < plan.report.tensors.size(); ++i) {
    const u64 padded = checked_round_up(plan.report.tensors[i].bytes, alignment).value_or(0);
    if (size > 0 && size + padded > *options.split_max_size) {
      starts.push_back(i);
      size = 0;
    }
    size += padded;
  }
  return starts;
}

std::string split_path(const std::string& output, std::size_t number, std::size_t count) {
  std::string prefix = output;
  if (prefix.ends_with(".gguf")) prefix.resize(prefix.size() - 5);
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, number + 1, count);
}

Status lay_out_file(GgufPlan& plan, const MlxToGgufOptions& options, const std::vector<gguf::OutKey>& keys,
                    std::size_t begin, std::size_t end, std::string path) {
  std::vector<gguf::OutTensor> tensors;
  for (std::size_t i = begin; i < end; ++i) {
    tensors.push_back({plan.report.tensors[i].name, plan.forms[i].type, plan.map.tensors[i].ne});
  }
  constexpr u32 version = 3;
  auto laid_out = gguf::layout(keys, tensors, alignment, version, plan.image ? gguf::image_limits : gguf::ggml_limits);
  if (!laid_out) return tl::make_unexpected(in_file(std::move(laid_out.error()), options.directory));
  gguf::OutLayout& layout = *laid_out;
  plan.report.files.push_back({path, layout.file_size, end - begin});
  plan.files.push_back({std::move(path), std::move(layout.header), layout.file_size});
  return {};
}

Status open_target(GgufPlan& plan, const MlxToGgufOptions& options) {
  gguf::SplitSet set;
  for (const PlannedFile& file : plan.files) {
    MU_ASSIGN(gguf::SetFile planned, planned_file(file.header, file.size, file.path));
    set.files.push_back(std::move(planned));
  }
  plan.target = Model(std::move(set), options.output);
  return {};
}

void plan_streams(GgufPlan& plan, const MlxToGgufOptions& options) {
  for (std::size_t i = 0; i < plan.map.tensors.size(); ++i) {
    const MappedTensor& tensor = plan.map.tensors[i];
    const Tensor& target = plan.target.catalog().tensors[i];
    StreamTensor& stream = plan.stream.emplace_back();
    stream.file = target.file;
    stream.rows = tensor.streamed_rows();
    stream.granule = row_granule(tensor);
    stream.parts[0] = {target.offset, target.bytes / stream.rows};
    stream.chunk_rows = rows_at_once(*plan.model, tensor, stream.parts[0].row_bytes, options.threads);
    stream.is_measured = !plan.forms[i].exact;
  }
}

}  // namespace

Status lay_out_files(GgufPlan& plan, const MlxToGgufOptions& options, const std::vector<gguf::OutKey>& keys) {
  const std::vector<std::size_t> starts = file_starts(plan, options);
  const std::size_t count = starts.size();
  const std::size_t tensors = plan.report.tensors.size();
  if (count > 65535) {
    return usage_error(
        fmt::format("--split-max-size would make {} files, at most 65535 are allowed; choose a larger size", count));
  }
  for (std::size_t f = 0; f < count; ++f) {
    const std::size_t end = f + 1 < count ? starts[f + 1] : tensors;
    std::vector<gguf::OutKey> keys_of_file;
    if (f == 0) keys_of_file = keys;
    if (count > 1) {
      keys_of_file.push_back(gguf::make_key_u16("split.no", static_cast<u16>(f)));
      keys_of_file.push_back(gguf::make_key_u16("split.count", static_cast<u16>(count)));
      keys_of_file.push_back(gguf::make_key_i32("split.tensors.count", static_cast<i32>(tensors)));
    }
    MU_TRY(lay_out_file(plan, options, keys_of_file, starts[f], end,
                        count > 1 ? split_path(options.output, f, count) : options.output));
  }
  MU_TRY(open_target(plan, options));
  plan_streams(plan, options);
  return {};
}

}  // namespace modelutils::to_gguf
