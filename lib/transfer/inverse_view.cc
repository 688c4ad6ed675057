#include "transfer/inverse_view.h"

#include <algorithm>

namespace modelutils {

InverseView::InverseView(const arch::RowView& view) : base_(view.base) {
  u64 weight = 1;
  for (std::size_t i = view.axes.size(); i-- > 0;) {
    axes_.push_back({view.axes[i].count, view.axes[i].stride, weight});
    weight *= view.axes[i].count;
  }
  std::stable_sort(axes_.begin(), axes_.end(), [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  is_identity_ = base_ == 0;
  u64 stride = 1;
  for (std::size_t i = view.axes.size(); i-- > 0;) {
    is_identity_ = is_identity_ && view.axes[i].stride == stride;
    stride *= view.axes[i].count;
  }
}

std::optional<u64> InverseView::row_of(u64 unit) const {
  if (unit < base_) return std::nullopt;
  unit -= base_;
  u64 row = 0;
  for (const Axis& axis : axes_) {
    const u64 place = unit / axis.stride;
    if (place >= axis.count) return std::nullopt;
    row += place * axis.weight;
    unit -= place * axis.stride;
  }
  return unit == 0 ? std::optional(row) : std::nullopt;
}

}  // namespace modelutils
