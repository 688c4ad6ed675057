#include "verify/parity_mlx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <unordered_map>

#include "base/counted.h"
#include "base/parallel.h"
#include "plan/hf_rows.h"
#include "plan/hf_tensor_map.h"
#include "plan/mlx_scales.h"
#include "tensor/dequantize.h"
#include "tensor/shape.h"
#include "verify/wording.h"

namespace modelutils {

namespace {

constexpr u64 chunk_elements = u64{1} << 17;
constexpr double tolerated_error = 0.01;

// What the comparison of one tensor has found so far.
struct Comparison {
  const MappedTensor* source = nullptr;
  const CatalogTensor* converted = nullptr;
  u64 different = 0;
  u64 first = 0;  // element, meaningful if different > 0
  float expected = 0;
  float found = 0;
  double squared_error = 0;
  double squared_value = 0;
};

struct Chunk {
  std::size_t tensor;
  u64 first;  // row
  u64 count;
};

class Comparer {
 public:
  Comparer(const HfModel& model, const TensorMap& map, const Catalog& catalog)
      : model_(model), map_(map), catalog_(catalog) {}

  Result<FindingLog> compare() {
    pair_tensors();
    make_chunks();
    MU_TRY(parallel_for(chunks_.size(), default_threads(),
                        [&](u64 item, unsigned) { return compare_chunk(chunks_[item]); }));
    for (const Comparison& pair : pairs_) MU_TRY(report(pair));
    return std::move(log_);
  }

 private:
  void pair_tensors() {
    std::unordered_map<std::string_view, const CatalogTensor*> left;
    for (const CatalogTensor& tensor : catalog_.tensors) left.emplace(tensor.name, &tensor);
    for (const MappedTensor& source : map_.tensors) {
      const auto found = left.find(source.name);
      if (found == left.end()) {
        log_.error(Scope::model, "parity-missing", "is in the source, but not in the converted file",
                   at_tensor(source.name));
        continue;
      }
      const CatalogTensor& converted = *found->second;
      left.erase(found);
      if (converted.ne != source.ne) {
        log_.error(
            Scope::model, "parity-shape",
            fmt::format("has shape {}, but the source gives {}", shape_text(converted.ne), shape_text(source.ne)),
            at_tensor(source.name));
      } else if (!converted.type || !has_decoder(*converted.type)) {
        log_.error(Scope::model, "parity-type", "has a type that cannot be decoded", at_tensor(source.name));
      } else {
        pairs_.push_back({&source, &converted, 0, 0, 0, 0, 0, 0});
      }
    }
    for (const CatalogTensor& tensor : catalog_.tensors) {
      if (left.contains(tensor.name)) {
        log_.error(Scope::model, "parity-extra", "is in the converted file, but not in the source",
                   at_tensor(tensor.name));
      }
    }
  }

  void make_chunks() {
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const MappedTensor& source = *pairs_[i].source;
      const u64 rows = source.units();
      const u64 granule = row_granule(source);
      const u64 step = std::max<u64>(chunk_elements / std::max<u64>(source.columns() * granule, 1), 1) * granule;
      for (u64 first = 0; first < rows; first += step) chunks_.push_back({i, first, std::min(step, rows - first)});
    }
  }

  Result<std::vector<float>> expected_values(const MappedTensor& source, const Chunk& chunk) const {
    if (source.is_whole) return read_whole(model_, source);
    StoredRows rows;
    MU_TRY(read_stored_rows(model_, source, chunk.first, chunk.count, rows));
    std::vector<float> values(static_cast<std::size_t>(chunk.count * source.columns()));
    decode_rows(model_, source, rows, values);
    return values;
  }

  Status compare_chunk(const Chunk& chunk) {
    Comparison& pair = pairs_[chunk.tensor];
    MU_ASSIGN(const std::vector<float> expected, expected_values(*pair.source, chunk));
    std::vector<float> found(expected.size());
    const u64 start = chunk.first * pair.source->columns();
    MU_TRY(read_values(catalog_, *pair.converted, start, found));
    Comparison part;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double value = static_cast<double>(expected[i]);
      const double difference = static_cast<double>(found[i]) - value;
      part.squared_value += value * value;
      // -0 equals +0, and NaN stands for NaN.
      if (expected[i] == found[i] || (std::isnan(expected[i]) && std::isnan(found[i]))) continue;
      part.squared_error += difference * difference;
      if (part.different++ == 0) part.first = start + i, part.expected = expected[i], part.found = found[i];
    }
    const std::lock_guard lock(mutex_);
    pair.squared_value += part.squared_value;
    pair.squared_error += part.squared_error;
    if (part.different > 0 && (pair.different == 0 || part.first < pair.first)) {
      pair.first = part.first, pair.expected = part.expected, pair.found = part.found;
    }
    pair.different += part.different;
    return {};
  }

  // Could the tensor's type hold every value of its source?
  Result<bool> is_exact_form(const Comparison& pair) const {
    if (pair.source->parts.empty()) return true;
    const SourceMatrix& matrix = model_.matrices[pair.source->parts.front().matrix];
    const TensorType type = *pair.converted->type;
    if (!matrix.quantized || pair.source->has_computed_rows())
      return type == TensorType::F32 || type == matrix.values.type;
    ScaleAnalysis analysis;
    MU_TRY(analyse_tensor(model_, *pair.source, false, analysis));
    return carries_exactly(form_of(matrix), analysis, type);
  }

  Status report(const Comparison& pair) {
    if (pair.different == 0) return {};
    const std::string& name = pair.source->name;
    MU_ASSIGN(const bool exact, is_exact_form(pair));
    if (exact) {
      log_.error(Scope::model, "parity-value",
                 fmt::format("{} of {} {}; the first is element {}: {} instead of {}", pair.different,
                             counted(pair.source->columns() * pair.source->rows(), "value"),
                             verb(pair.different, "differs", "differ"), pair.first, pair.found, pair.expected),
                 at_tensor(name));
      return {};
    }
    const double error = pair.squared_value > 0 ? std::sqrt(pair.squared_error / pair.squared_value) : HUGE_VAL;
    const bool tolerable = error <= tolerated_error;  // false for NaN
    log_.tell(tolerable ? Severity::note : Severity::error, Scope::model, "parity-inexact",
              fmt::format("is {}, which cannot represent the source exactly: relative RMS error {:.2g}{}",
                          type_name(*pair.converted->type), error, tolerable ? "" : ", more than 1 %"),
              at_tensor(name));
    return {};
  }

  const HfModel& model_;
  const TensorMap& map_;
  const Catalog& catalog_;
  std::vector<Comparison> pairs_;
  std::vector<Chunk> chunks_;
  std::mutex mutex_;
  FindingLog log_;
};

}  // namespace

Result<FindingLog> compare_with_mlx(const CheckedModel& checked, const Model&, Model source) {
  MU_ASSIGN(const auto model, understand_model(std::move(*source.safetensors)));
  MU_ASSIGN(const TensorMap map, map_tensors(*model));
  return Comparer(*model, map, checked.catalog).compare();
}

}  // namespace modelutils
