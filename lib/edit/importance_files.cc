#include "edit/importance_merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/byte_writer.h"
#include "base/checked_math.h"
#include "gguf/write.h"
#include "io/atomic_output.h"
#include "io/free_space.h"

namespace modelutils::edit {

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
