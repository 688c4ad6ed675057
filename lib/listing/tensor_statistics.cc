#include "listing/tensor_statistics.h"

namespace modelutils {

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
