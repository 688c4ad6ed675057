#include "compare/piece_sums.h"

#include <algorithm>

namespace modelutils {

namespace {

constexpr std::size_t most_rows = 3;
constexpr std::size_t rows_in_between = 4096;  // kept until a look at which are the worst

}  // namespace

void keep_worst_rows(std::vector<RowError>& rows) {
  const auto is_worse = [](const RowError& x, const RowError& y) {
    return x.rms != y.rms ? x.rms > y.rms : x.row < y.row;
  };
  const std::size_t kept = std::min(rows.size(), most_rows);
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end(), is_worse);
  rows.resize(kept);
}

void PieceSums::add(std::span<const float> a, std::span<const float> b) {
  while (!a.empty()) {
    const u64 row_end = columns_ == 0 ? begin_ + a.size() : row_start_ + columns_;
    const std::size_t count = std::min<u64>(row_end - begin_, a.size());
    const auto x = a.first(count), y = b.first(count);
    const ValueSums part = sums_of(x, y, std::max(sums_.max_abs, row_.max_abs));
    if (part.different > 0 && sums_.different + row_.different == 0) {
      const std::size_t place = first_difference(x, y).value_or(0);
      first_ = begin_ + place;
      first_a_ = x[place];
      first_b_ = y[place];
    }
    row_.add(part);
    a = a.subspan(count);
    b = b.subspan(count);
    begin_ += count;
    if (begin_ == row_end) end_row();
  }
}

void PieceSums::end_row() {
  sums_.add(row_);
  if (columns_ > 0 && row_.dd > 0) {
    worst_.push_back({row_start_ / columns_, row_.rms()});
    if (worst_.size() >= rows_in_between) keep_worst_rows(worst_);
  }
  row_ = {};
  row_start_ = begin_;
}

void PieceSums::finish() {
  keep_worst_rows(worst_);
}

}  // namespace modelutils
