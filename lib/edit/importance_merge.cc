#include "edit/importance_merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "base/byte_reader.h"
#include "base/types.h"
#include "formats/gguf/parse.h"
#include "formats/gguf/write.h"
#include "io/atomic_output.h"
#include "io/output_place.h"
#include "io/random_access_file.h"

namespace modelutils::edit {

namespace {

using quantize::ImportanceEntry;
using quantize::ImportanceMatrix;

constexpr u64 default_chunk_size = 512;  // llama-imatrix's default context

tl::unexpected<Error> refuse(const ImportanceMatrix& matrix, std::string_view name, std::string message) {
  return input_error("imatrix-merge", std::move(message), at_tensor(name), {}, matrix.path());
}

Status add_counts(const ImportanceMatrix& matrix, const ImportanceEntry& entry, u64 tokens_of_call,
                  std::vector<i64>& counts) {
  if (counts.empty()) counts.assign(entry.counts.size(), 0);
  if (counts.size() == 1) counts.resize(entry.counts.size(), counts.front());
  if (entry.counts.size() != 1 && entry.counts.size() != counts.size()) {
    return refuse(
        matrix, entry.name,
        fmt::format("has counts for {} matrices, but {} in the previous files", entry.counts.size(), counts.size()));
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    i64 count = entry.counts[entry.counts.size() == 1 ? 0 : i];
    // Values without a call count are plain weights, equivalent to a single call.
    if (matrix.is_legacy()) count = std::max(count, i64{1}) * static_cast<i64>(tokens_of_call);
    const auto sum =
        checked_add(static_cast<u64>(std::max(counts[i], i64{0})), static_cast<u64>(std::max(count, i64{0})));
    if (!sum || *sum > static_cast<u64>(std::numeric_limits<i64>::max())) {
      return refuse(matrix, entry.name, "the sum of the counts is too large");
    }
    counts[i] = static_cast<i64>(*sum);
  }
  return {};
}

Status add_entries(const ImportanceMatrix& matrix, u64 chunk_size, std::map<std::string, MergedEntry>& entries) {
  for (const ImportanceEntry& entry : matrix.entries()) {
    MergedEntry& merged = entries[entry.name];
    const bool is_new = merged.parts.empty();
    if (is_new) {
      merged.name = entry.name;
      merged.values = entry.values;
    } else if (merged.values != entry.values) {
      return refuse(
          matrix, entry.name,
          fmt::format("has {} sums, but {} in '{}'", entry.values, merged.values, merged.parts.front().matrix->path()));
    }
    MU_TRY(add_counts(matrix, entry, chunk_size, merged.counts));
    merged.has_plain_sums = (is_new || merged.has_plain_sums) && entry.plain_sums_offset.has_value();
    merged.parts.push_back({&matrix, &entry, matrix.is_legacy() ? static_cast<float>(chunk_size) : 1.0f});
  }
  return {};
}

// Notes information that merging loses.
void add_remarks(ImportanceMerge& merge) {
  for (const MergedEntry& entry : merge.entries) {
    const auto has_plain = [](const MergedEntry::Part& part) { return part.entry->plain_sums_offset.has_value(); };
    if (entry.has_plain_sums || std::ranges::none_of(entry.parts, has_plain)) continue;
    merge.remarks.push_back(
        {.severity = Severity::note,
         .scope = Scope::model,
         .code = "imatrix-plain-sums",
         .message =
             "the sums of the values (in_sum) are left out, because not every input has them; no quantiser reads them",
         .where = at_tensor(entry.name)});
  }
}

}  // namespace

bool is_importance_file(const std::string& path, bool legacy) {
  if (path == "-") return false;
  const auto file = RandomAccessFile::open(path);
  if (!file) return false;
  std::string head(std::min<u64>(4096, (*file)->file_size()), '\0');
  if (!(*file)->read_exact(0, std::as_writable_bytes(std::span(head)))) return false;
  if (!head.starts_with("GGUF")) return quantize::is_legacy_importance(head);
  if (legacy) return false;
  const auto document = gguf::parse(**file);
  return document && quantize::is_importance(*document);
}

Result<ImportanceMerge> plan_importance_merge(const ImportanceRequest& request) {
  ImportanceMerge merge;
  for (const std::string& path : request.inputs) {
    MU_ASSIGN(auto matrix, ImportanceMatrix::open(path));
    if (merge.chunk_size == 0) merge.chunk_size = matrix->chunk_size();
    for (const std::string& dataset : matrix->datasets()) merge.datasets.push_back(dataset);
    merge.matrices.push_back(std::move(matrix));
  }
  if (merge.chunk_size == 0) merge.chunk_size = default_chunk_size;
  if (merge.chunk_size > std::numeric_limits<u32>::max()) {
    return refuse(*merge.matrices.front(), "", "the size of a chunk is too large");
  }
  std::map<std::string, MergedEntry> entries;
  for (const auto& matrix : merge.matrices) MU_TRY(add_entries(*matrix, merge.chunk_size, entries));
  i64 most = 0;
  for (auto& [name, entry] : entries) {
    most = std::max(most, std::ranges::max(entry.counts));
    merge.entries.push_back(std::move(entry));
  }
  merge.chunks = static_cast<u64>(most) / merge.chunk_size;
  if (merge.matrices.size() == 1 && merge.matrices.front()->chunks() > 0)
    merge.chunks = merge.matrices.front()->chunks();
  add_remarks(merge);
  if (request.legacy) {
    MU_TRY(drop_unused(merge));
  }
  MU_ASSIGN(merge.file_size, request.legacy ? legacy_size(merge) : gguf_size(merge));
  return merge;
}

Result<std::vector<float>> merged_sums(const MergedEntry& entry, SumsKind kind) {
  std::vector<float> sums(entry.values, 0.0f);
  for (const MergedEntry::Part& part : entry.parts) {
    const bool plain = kind == SumsKind::values;
    MU_ASSIGN(const std::vector<float> more,
              plain ? part.matrix->plain_sums(*part.entry) : part.matrix->sums(*part.entry));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more[i] * part.scale;
  }
  if (!std::ranges::all_of(sums, [](float sum) { return std::isfinite(sum); })) {
    return input_error("imatrix-not-finite", "a sum is NaN or infinite", at_tensor(entry.name), {},
                       entry.parts.front().matrix->path());
  }
  return sums;
}

namespace {

constexpr u64 most_i32 = std::numeric_limits<i32>::max();

tl::unexpected<Error> refuse(const ImportanceMerge& merge, std::string where, std::string message) {
  return input_error("imatrix-merge", std::move(message), std::move(where), {}, merge.matrices.front()->path());
}

Result<gguf::OutLayout> layout_of(const ImportanceMerge& merge) {
  if (merge.chunks > std::numeric_limits<u32>::max()) return refuse(merge, {}, "has too many chunks");
  const std::vector<gguf::OutKey> keys = {
      gguf::make_key_string("general.type", "imatrix"),
      gguf::make_key_strings("imatrix.datasets", merge.datasets),
      gguf::make_key("imatrix.chunk_count", static_cast<u32>(merge.chunks)),
      gguf::make_key("imatrix.chunk_size", static_cast<u32>(merge.chunk_size)),
  };
  std::vector<gguf::OutTensor> tensors;
  for (const MergedEntry& entry : merge.entries) {
    const u64 matrices = entry.counts.size();
    const u64 columns = entry.values / matrices;
    tensors.push_back({entry.name + ".in_sum2", TensorType::F32, {columns, matrices}});
    tensors.push_back({entry.name + ".counts", TensorType::F32, {1, matrices}});
    if (entry.has_plain_sums) tensors.push_back({entry.name + ".in_sum", TensorType::F32, {columns, matrices}});
  }
  return gguf::layout(keys, tensors);
}

u64 calls_of(const ImportanceMerge& merge, const MergedEntry& entry) {
  // Rounded up, so that an entry that was used at all has at least one call.
  return (static_cast<u64>(std::ranges::max(entry.counts)) + (merge.chunk_size - 1)) / merge.chunk_size;
}

std::string_view last_dataset(const ImportanceMerge& merge) {
  return merge.datasets.empty() ? std::string_view() : std::string_view(merge.datasets.back());
}

class Writer {
 public:
  Writer(const ImportanceMerge& merge, AtomicOutput& output, Progress& progress)
      : merge_(merge), output_(output), progress_(progress) {}

  Status write_gguf() {
    MU_ASSIGN(const gguf::OutLayout layout, layout_of(merge_));
    MU_TRY(append(layout.header));
    for (const MergedEntry& entry : merge_.entries) {
      MU_TRY(append_sums(entry, SumsKind::squares, layout.alignment));
      std::vector<float> counts;
      for (const i64 count : entry.counts) counts.push_back(static_cast<float>(count));
      MU_TRY(append_floats(counts, layout.alignment));
      if (entry.has_plain_sums) MU_TRY(append_sums(entry, SumsKind::values, layout.alignment));
    }
    return {};
  }

  Status write_legacy() {
    MU_TRY(append_i32(merge_.entries.size()));
    for (const MergedEntry& entry : merge_.entries) {
      const u64 calls = calls_of(merge_, entry);
      MU_TRY(append_text(entry.name));
      MU_TRY(append_i32(calls));
      MU_TRY(append_i32(entry.values));
      MU_ASSIGN(std::vector<float> values, merged_sums(entry, SumsKind::squares));
      const std::size_t columns = values.size() / entry.counts.size();
      for (std::size_t i = 0; i < values.size(); ++i) {
        const i64 count = entry.counts[i / columns];
        // A matrix that was never used gets weight 1, since readers divide by the number of calls.
        const float weight = count > 0 ? values[i] / static_cast<float>(count) : 1.0f;
        values[i] = weight * static_cast<float>(calls);
      }
      MU_TRY(append_floats(values, 1));
    }
    MU_TRY(append_i32(merge_.chunks));
    return append_text(last_dataset(merge_));
  }

 private:
  Status append(std::string_view bytes) {
    MU_TRY(output_.append(std::as_bytes(std::span(bytes))));
    progress_.advance(bytes.size());
    return {};
  }

  Status append_i32(u64 number) {
    std::string bytes;
    put(bytes, static_cast<u32>(number));
    return append(bytes);
  }

  Status append_text(std::string_view text) {
    MU_TRY(append_i32(text.size()));
    return append(text);
  }

  Status append_floats(std::span<const float> values, u64 alignment) {
    const auto bytes = std::as_bytes(values);
    MU_TRY(output_.append(bytes));
    progress_.advance(bytes.size());
    return append(std::string((alignment - bytes.size() % alignment) % alignment, '\0'));
  }

  Status append_sums(const MergedEntry& entry, SumsKind kind, u64 alignment) {
    MU_ASSIGN(const std::vector<float> sums, merged_sums(entry, kind));
    return append_floats(sums, alignment);
  }

  const ImportanceMerge& merge_;
  AtomicOutput& output_;
  Progress& progress_;
};

}  // namespace

Status drop_unused(ImportanceMerge& merge) {
  std::vector<MergedEntry> used;
  for (MergedEntry& entry : merge.entries) {
    if (std::ranges::max(entry.counts) > 0) {
      used.push_back(std::move(entry));
      continue;
    }
    merge.remarks.push_back({.severity = Severity::warning,
                             .scope = Scope::model,
                             .code = "imatrix-unused",
                             .message = "was never used, which the .dat format cannot express: left out",
                             .where = at_tensor(entry.name)});
  }
  merge.entries = std::move(used);
  return merge.entries.empty() ? refuse(merge, {}, "has no tensor that was used") : Status{};
}

Result<u64> gguf_size(const ImportanceMerge& merge) {
  MU_ASSIGN(const gguf::OutLayout layout, layout_of(merge));
  return layout.file_size;
}

Result<u64> legacy_size(const ImportanceMerge& merge) {
  u64 size = 4 + 4 + 4 + last_dataset(merge).size();
  if (merge.entries.size() > most_i32 || merge.chunks > most_i32 || last_dataset(merge).size() > most_i32) {
    return refuse(merge, {}, "has more entries or chunks than the .dat format can count");
  }
  for (const MergedEntry& entry : merge.entries) {
    if (entry.values > most_i32 || entry.name.size() > most_i32 || calls_of(merge, entry) > most_i32) {
      return refuse(merge, at_tensor(entry.name), "has larger numbers than the .dat format can hold");
    }
    size += 12 + entry.name.size() + 4 * entry.values;
  }
  return size;
}

Status check_importance_output(const ImportanceRequest& request, const ImportanceMerge& merge) {
  MU_TRY(AtomicOutput::check(request.output, {.force = request.force, .inputs = request.inputs}));
  return check_free_space(request.output, merge.file_size);
}

Status write_importance_merge(const ImportanceRequest& request, const ImportanceMerge& merge, Progress& progress) {
  MU_TRY(check_free_space(request.output, merge.file_size));
  MU_ASSIGN(AtomicOutput output,
            AtomicOutput::create(request.output, {.force = request.force, .inputs = request.inputs}));
  progress.restart("writing", merge.file_size);
  Writer writer(merge, output, progress);
  MU_TRY(request.legacy ? writer.write_legacy() : writer.write_gguf());
  MU_TRY(output.commit());
  progress.finish();
  return {};
}

}  // namespace modelutils::edit
