#include "verify/model_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "arch/loader_forms.h"
#include "base/byte_reader.h"
#include "base/parallel.h"
#include "base/path.h"
#include "base/text.h"
#include "convert/to_gguf/adapter_to_gguf.h"
#include "model/adapter/pairs.h"
#include "rules/formats.h"
#include "tensor/block_check.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

// Small enough to stay in the L2 cache between pread and the check.
constexpr u64 piece_size = 256 * 1024;

// A tensor to read, in pieces of whole blocks. `first_piece` is the number of its first piece in the run.
struct Task {
  std::size_t tensor;
  u64 blocks;
  u64 block_bytes;
  u64 blocks_per_piece;
  u64 first_piece;
  const PackedWeight* packed = nullptr;  // the packed weight that these scales or biases belong to
  bool is_bias = false;
};

struct Outcome {
  u64 bad_blocks = 0;
  std::optional<BadBlock> first;  // position counted from the start of the tensor
};

constexpr std::string_view negative = "a negative sum of squares";

// Checks the sums of an importance matrix.
BlockCheck check_sums(Bytes bytes) {
  BlockCheck check;
  for (u64 i = 0; i * sizeof(float) < bytes.size(); ++i) {
    if (!(load<float>(bytes.data() + i * sizeof(float)) < 0)) continue;
    if (check.bad_blocks++ == 0) check.first = BadBlock{i, "value", negative};
  }
  return check;
}

// Sorts errors before warnings, then by block.
bool goes_before(const BadBlock& a, const BadBlock& b) {
  return std::pair(a.is_warning, a.block) < std::pair(b.is_warning, b.block);
}

void merge(Outcome& into, const BlockCheck& check, u64 first_block) {
  into.bad_blocks += check.bad_blocks;
  if (!check.first) return;
  BadBlock bad = *check.first;
  bad.block += first_block;
  if (!into.first || goes_before(bad, *into.first)) into.first = bad;
}

std::string_view code_of(TensorType type, const BadBlock& bad) {
  if (bad.is_warning) return type == TensorType::BOOL ? "data-bool" : "data-scale";
  if (bad.what == negative) return "imatrix-negative";
  if (bad.what.find("overflow") != std::string_view::npos) return "data-overflow";
  return bad.what.find("NaN") != std::string_view::npos ? "data-nan" : "data-inf";
}

std::string describe(const TypeInfo& type, u64 blocks, const Outcome& outcome) {
  const BadBlock& bad = *outcome.first;
  const bool has_verb = std::ranges::any_of(std::array{"is ", "overflows", "makes"},
                                            [&](std::string_view verb) { return bad.what.starts_with(verb); });
  const std::string_view verb = has_verb ? "" : "is ";
  if (type.block_elements == 1) {
    return fmt::format("element {} of {} {}{} ({}); {} in this tensor", bad.block, blocks, verb, bad.what, type.name,
                       counted(outcome.bad_blocks, "bad value"));
  }
  return fmt::format("block {} of {} (elements {} to {}): {} {}{} ({}); {} in this tensor", bad.block, blocks,
                     bad.block * type.block_elements, (bad.block + 1) * type.block_elements - 1, bad.field, verb,
                     bad.what, type.name, counted(outcome.bad_blocks, "bad block"));
}

// True if the type can be checked in this byte order. Block types mix fields of several widths, so swapping elements
// does not suffice.
bool can_check(const Catalog& catalog, TensorType type) {
  return !catalog.big_endian || type_info(type).block_elements == 1;
}

bool has_check(const Tensor& tensor) {
  return tensor.type && has_block_check(*tensor.type);
}

// Converts big-endian elements in place.
void swap_bytes(TensorType type, MutableBytes bytes) {
  const std::size_t size = type_info(type).block_bytes;
  for (std::size_t at = 0; at < bytes.size(); at += size) std::ranges::reverse(bytes.subspan(at, size));
}

// Returns the tensors whose type has a check, and the total number of pieces.
std::pair<std::vector<Task>, u64> plan(const Catalog& catalog, std::span<const PackedWeight> packed) {
  std::vector<Task> tasks;
  u64 pieces = 0;
  for (std::size_t i = 0; i < catalog.tensors.size(); ++i) {
    const Tensor& tensor = catalog.tensors[i];
    if (!tensor.is_readable() || !has_check(tensor) || !can_check(catalog, *tensor.type)) continue;
    const u64 block_bytes = type_info(*tensor.type).block_bytes;
    const u64 blocks = tensor.bytes / block_bytes;
    if (blocks == 0) continue;
    const u64 per_piece = std::max<u64>(1, piece_size / block_bytes);
    tasks.push_back({i, blocks, block_bytes, per_piece, pieces});
    pieces += (blocks - 1) / per_piece + 1;
  }
  const auto attach = [&](std::size_t tensor, const PackedWeight& weight, bool is_bias) {
    const auto task = std::ranges::lower_bound(tasks, tensor, {}, &Task::tensor);
    if (task == tasks.end() || task->tensor != tensor) return;
    task->packed = &weight;
    task->is_bias = is_bias;
  };
  for (const PackedWeight& weight : packed) {
    attach(weight.scales, weight, false);
    attach(weight.biases, weight, true);
  }
  return {std::move(tasks), pieces};
}

// Notes a matrix of zeros: it was never written, or was cleared on purpose. A single number may well be 0.
void note_zeros(const Catalog& catalog, const Task& task, FindingLog& log) {
  const Tensor& tensor = catalog.tensors[task.tensor];
  const u64 elements = task.blocks * type_info(*tensor.type).block_elements;
  if (elements < 2) return;
  if (adapter::is_b(tensor.name)) {
    log.warning(Scope::data, "adapter-untrained",
                fmt::format("all {} values are 0: this pair changes nothing, as before training", thousands(elements)),
                at_tensor(tensor.name), tensor.offset, file_of_set(catalog, tensor.file));
    return;
  }
  log.note(Scope::data, "data-zeros", fmt::format("all {} values are 0", thousands(elements)), at_tensor(tensor.name),
           tensor.offset, file_of_set(catalog, tensor.file));
}

}  // namespace

void check_data(const Catalog& catalog, std::span<const PackedWeight> packed, unsigned threads, FindingLog& log,
                Progress* progress, const std::function<void()>& first) {
  const auto is_left_out = [&](const Tensor& tensor) {
    return tensor.is_readable() && has_check(tensor) && !can_check(catalog, *tensor.type);
  };
  if (const auto number = std::ranges::count_if(catalog.tensors, is_left_out); number != 0) {
    log.warning(Scope::data, "data-big-endian",
                fmt::format("{} in big-endian blocks: the values were not checked",
                            counted(static_cast<u64>(number), "tensor")));
  }
  // clang 14 cannot capture the names of a structured binding.
  const auto planned = plan(catalog, packed);
  const auto& tasks = planned.first;
  const auto pieces = planned.second;
  if (progress != nullptr) {
    u64 bytes = 0;
    for (const Task& task : tasks) bytes += task.blocks * task.block_bytes;
    progress->restart("checking", bytes);
  }
  std::vector<Outcome> outcomes(tasks.size());
  std::vector<std::atomic<bool>> has_values(tasks.size());  // true once a nonzero value was seen
  std::vector<std::vector<std::byte>> buffers(threads);
  std::mutex mutex;
  const u64 others = first ? 1 : 0;
  const Status status = parallel_for(others + pieces, threads, [&](u64 item, unsigned thread) -> Status {
    if (item < others) {
      first();
      return {};
    }
    const u64 piece = item - others;
    const auto after = std::upper_bound(tasks.begin(), tasks.end(), piece,
                                        [](u64 number, const Task& task) { return number < task.first_piece; });
    const Task& task = *std::prev(after);
    const Tensor& tensor = catalog.tensors[task.tensor];
    const u64 first_block = (piece - task.first_piece) * task.blocks_per_piece;
    const u64 size = std::min(task.blocks_per_piece, task.blocks - first_block) * task.block_bytes;
    std::vector<std::byte>& buffer = buffers[thread];
    if (buffer.size() < size) buffer.resize(std::max(size, std::min(piece_size, size * 2)));
    const MutableBytes bytes(buffer.data(), size);
    const auto failed = [&](const Error& error) {
      return tl::make_unexpected(read_failure(catalog, tensor.file, at_tensor(tensor.name), error));
    };
    if (Status read = catalog.read(tensor, first_block * task.block_bytes, bytes); !read) {
      return failed(read.error());
    }
    if (catalog.big_endian) swap_bytes(*tensor.type, bytes);
    const auto take = [&](const BlockCheck& check) {
      if (check.bad_blocks == 0) return;
      const std::lock_guard lock(mutex);
      merge(outcomes[static_cast<std::size_t>(&task - tasks.data())], check, first_block);
    };
    take(check_blocks(*tensor.type, bytes));
    if (catalog.format == Format::imatrix) take(check_sums(bytes));
    std::atomic<bool>& has_value = has_values[static_cast<std::size_t>(&task - tasks.data())];
    // For nearly all tensors the first block settles this.
    if (!has_value.load(std::memory_order_relaxed) && !holds_only_zeros(*tensor.type, bytes)) {
      has_value.store(true, std::memory_order_relaxed);
    }
    if (task.packed != nullptr) {
      const auto check = check_packed(catalog, *task.packed, task.is_bias, first_block, bytes);
      if (!check) return failed(check.error());
      take(*check);
    }
    if (progress != nullptr) progress->advance(size);
    return {};
  });
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (status && !has_values[i] && !tasks[i].is_bias) note_zeros(catalog, tasks[i], log);
    if (!outcomes[i].first) continue;
    const Tensor& tensor = catalog.tensors[tasks[i].tensor];
    const BadBlock& bad = *outcomes[i].first;
    log.add(bad.is_warning ? Severity::warning : Severity::error, Scope::data, code_of(*tensor.type, bad),
            describe(type_info(*tensor.type), tasks[i].blocks, outcomes[i]), at_tensor(tensor.name),
            tensor.offset + bad.block * tasks[i].block_bytes, file_of_set(catalog, tensor.file));
  }
  if (!status) log.add(status.error());
}

namespace {

// Returns ".gguf" for "a/b.GGUF"; empty if there is no extension.
std::string extension_of(const std::string& path) {
  std::string extension = extension_of_path(path);
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return extension;
}

}  // namespace

void check_extension(const std::string& path, Format format, FindingLog& log) {
  const FormatInfo& own = format_info(format);
  const std::string extension = extension_of(path);
  if (own.extension.empty() || extension == own.extension) return;
  const bool is_of_another = std::ranges::any_of(
      all_formats(), [&](const FormatInfo& other) { return !other.extension.empty() && extension == other.extension; });
  if (!is_of_another) return;
  log.error(
      Scope::container, "verify-extension",
      fmt::format(
          "this is {}, but its name ends in {}: programs that rely on the name cannot load it; rename it to end in {}",
          own.noun, extension, own.extension));
}

namespace {

bool is_adapter_directory(const std::string& path) {
  return adapter::is_adapter(ModelFolder(path));
}

}  // namespace

Result<TogetherChecks> TogetherChecks::open(const std::vector<std::string>& paths, OutsideLinks links) {
  TogetherChecks checks;
  std::vector<std::string> files;
  std::vector<std::string> models;  // models that are directories
  for (const std::string& path : paths) {
    if (is_adapter_directory(path)) continue;
    MU_ASSIGN(const PathProbe probe, probe_path(path, links));
    (probe.is_directory ? models : files).push_back(path);
  }
  const bool has_directories = files.size() < paths.size();
  if (!has_directories || (models.empty() && files.size() > 1)) {
    MU_ASSIGN(checks.files_, Together::open(files, links));
  }
  if (!has_directories) return checks;
  if (paths.size() < 2 || models.size() > 1 || (models.empty() && files.empty())) {
    return usage_error("--together needs one model and the adapters, projectors or matrices that go with it");
  }
  checks.base_path_ = models.empty() ? files.front() : models.front();
  MU_ASSIGN(checks.base_, to_gguf::read_base(checks.base_path_));
  return checks;
}

void TogetherChecks::check(const Model& model, FindingLog& log) const {
  if (model.gguf && files_) files_->check(*model.gguf, log);
  if (model.importance && files_) files_->check(*model.importance, log);
  if (!base_) return;
  if (model.gguf && !files_) check_pairs(*model.gguf, log);
  if (model.safetensors) check_directory(*model.safetensors, log);
}

void TogetherChecks::check_directory(const SafetensorsModel& model, FindingLog& log) const {
  if (!model.set.is_directory || !adapter::is_adapter(model.folder)) return;
  auto read = adapter::read_adapter(model.folder, model.set);
  if (!read) return;  // the adapter's own rules report it
  adapter::Adapter again = *read;
  if (const auto merged = adapter::map_pairs(*read, *base_, true, &log); !merged) log.add(without_path(merged.error()));
  if (log.errors() > 0) return;
  const auto pairs = adapter::map_pairs(again, *base_, false);
  const Status applied =
      pairs ? adapter::check_scaled(again, *base_, pairs->pairs) : Status(tl::make_unexpected(pairs.error()));
  if (applied || applied.error().code != "adapter-merge") return;
  Finding finding = without_path(applied.error(), Scope::model);
  finding.severity = Severity::warning;
  log.add(std::move(finding));
}

void TogetherChecks::check_pairs(const gguf::SplitSet& set, FindingLog& log) const {
  const gguf::Document& document = set.files.front().document;
  const gguf::Index index(document);
  const auto found = adapter::gguf_adapter(document, index);
  if (!found) return;
  constexpr std::string_view code = "gguf-together";
  if (index.architecture() != base_->family->gguf) {
    log.error(Scope::model, code,
              fmt::format("is '{}', but '{}' is '{}'", index.architecture(), base_path_, base_->family->gguf),
              at_key("general.architecture"));
    return;
  }
  const std::vector<arch::ExpectedTensor> expected = arch::expected_tensors(*base_->family, base_->sizes);
  for (const adapter::GgufPair& pair : found->pairs) {
    const auto target = std::ranges::find(expected, pair.target, &arch::ExpectedTensor::name);
    if (target == expected.end()) {
      log.error(Scope::model, code, fmt::format("'{}' has no tensor '{}'", base_path_, pair.target),
                at_tensor(pair.a->name), pair.a->info_offset);
      continue;
    }
    std::vector<u64> own = {pair.columns(), pair.rows()};
    if (pair.slices() > 1) own.push_back(pair.slices());
    if (is_same_shape(own, target->ne)) {
      check_scaled_pair(pair, log);
      continue;
    }
    log.error(Scope::model, code,
              fmt::format("is for a tensor of {}, but '{}' has {} of '{}'", shape_text(own), base_path_,
                          shape_text(target->ne), pair.target),
              at_tensor(pair.a->name), pair.a->info_offset);
  }
}

// The base is a directory: checks the scale that its GGUF would have.
void TogetherChecks::check_scaled_pair(const adapter::GgufPair& pair, FindingLog& log) const {
  const auto scaled = base_->scaled.find(std::string(pair.target));
  const arch::Tensor* row = arch::Names(*base_->family).find_gguf(pair.target).row;
  if (scaled == base_->scaled.end() || row == nullptr) return;
  const std::string_view lost = arch::scaled_pair_is_lost(*base_->family, row->name, scaled->second);
  if (lost.empty()) return;
  const bool is_fatal = arch::scaled_pair_aborts(row->name, scaled->second);
  log.add(is_fatal ? Severity::error : Severity::warning, Scope::model, "adapter-merge",
          fmt::format("is a LoRA pair on {}, which {}; merge the adapter", pair.target, lost), at_tensor(pair.a->name),
          pair.a->info_offset);
}

}  // namespace modelutils
