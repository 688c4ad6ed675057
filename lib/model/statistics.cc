#include "model/statistics.h"

#include <algorithm>
#include <cmath>

namespace modelutils {

void add_values(Statistics& statistics, std::span<const float> values) {
  u64 finite = 0;
  double sum = 0;
  double least = 0;
  double most = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) {
      ++(std::isnan(value) ? statistics.nans : statistics.infs);
      continue;
    }
    if (value == 0) ++statistics.zeros;
    const double number = value;
    least = finite == 0 ? number : std::min(least, number);
    most = finite == 0 ? number : std::max(most, number);
    sum += number;
    ++finite;
  }
  statistics.count += values.size();
  if (finite == 0) return;
  const double mean = sum / static_cast<double>(finite);
  double squares = 0;
  for (const float value : values) {
    if (std::isfinite(value)) squares += (value - mean) * (value - mean);
  }
  // Combines the means and sums of squares of two groups (Chan, Golub, LeVeque).
  const u64 all = statistics.finite();
  const u64 old = all - finite;
  const double old_squares = statistics.deviation * statistics.deviation * static_cast<double>(old);
  const double distance = mean - statistics.mean;
  const double share = static_cast<double>(finite) / static_cast<double>(all);
  statistics.min = old == 0 ? least : std::min(statistics.min, least);
  statistics.max = old == 0 ? most : std::max(statistics.max, most);
  statistics.mean += distance * share;
  squares += old_squares + distance * distance * static_cast<double>(old) * share;
  statistics.deviation = std::sqrt(squares / static_cast<double>(all));
}

}  // namespace modelutils
