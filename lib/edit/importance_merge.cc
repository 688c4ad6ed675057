#include "edit/importance_merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "base/checked_math.h"
#include "gguf/parse.h"
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

}  // namespace modelutils::edit
