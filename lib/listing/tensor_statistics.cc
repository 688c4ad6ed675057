#include "listing/tensor_statistics.h"

#include <cmath>

namespace modelutils {

namespace {

Result<std::vector<u64>> histogram_of(const ValueSource& tensor, const Statistics& statistics) {
  std::vector<u64> bins;
  const double range = statistics.max - statistics.min;
  if (statistics.finite() == 0 || !(range > 0)) return bins;
  bins.resize(histogram_bins);
  const double scale = static_cast<double>(histogram_bins) / range;
  constexpr u64 piece = 16 * 1024;
  std::vector<float> values;
  for (u64 first = 0; first < tensor.elements; first += values.size()) {
    values.resize(std::min(piece, tensor.elements - first));
    MU_TRY(tensor.values->read_values(first, values));
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      const auto bin = static_cast<std::size_t>(std::max(0.0, (static_cast<double>(value) - statistics.min) * scale));
      ++bins[std::min(bin, histogram_bins - 1)];
    }
  }
  return bins;
}

}  // namespace

Result<std::vector<TensorStatistics>> statistics_of(std::span<const ValueSource> tensors, unsigned threads) {
  std::vector<TensorStatistics> rows(tensors.size());
  MU_TRY(parallel_for(tensors.size(), threads, [&](u64 item, unsigned) -> Status {
    TensorStatistics& row = rows[item];
    row.tensor = &tensors[item];
    row.problem = tensors[item].problem;
    if (!row.problem.empty()) return {};
    auto statistics = statistics_of(tensors[item].elements, [&](u64 first, std::span<float> out) {
      return tensors[item].values->read_values(first, out);
    });
    if (statistics) {
      row.statistics = *statistics;
      MU_ASSIGN(row.histogram, histogram_of(tensors[item], row.statistics));
    } else if (statistics.error().code == "tensor-no-decoder") {
      row.problem = std::move(statistics.error().message);
    } else {
      return tl::make_unexpected(std::move(statistics.error()));
    }
    return {};
  }));
  return rows;
}

}  // namespace modelutils
