// The rows of lib/arch's views (arch/row_view.h), looked at from the side of the directory.
#pragma once

#include <optional>
#include <vector>

#include "arch/row_view.h"
#include "base/types.h"

namespace modelutils {

/// Which row of the view goes to a unit of the directory's tensor; nothing if none does.
class InverseView {
 public:
  explicit InverseView(const arch::RowView& view);
  std::optional<u64> row_of(u64 unit) const;
  /// Do the rows keep their order, one after another from the first unit on?
  bool is_identity() const { return is_identity_; }

 private:
  struct Axis {
    u64 count, stride, weight;  // weight: rows of the view for one step
  };
  std::vector<Axis> axes_;  // of falling stride
  u64 base_ = 0;
  bool is_identity_ = false;
};

}  // namespace modelutils
