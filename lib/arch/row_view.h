// Views of a source's rows: how rows of a Hugging Face or MLX tensor are picked and ordered to make those of a GGUF
// tensor. Whole rows only, so quantised rows (with their scales and biases) go through unchanged, in either direction.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/sizes.h"
#include "base/error.h"

namespace modelutils::arch {

/// Rows of one source, in the order in which they are wanted: row number (i0, i1, …) of the view, the last index
/// running fastest, is row base + Σ ik × stride_k of the source.
struct RowView {
  struct Axis {
    u64 count = 1;
    u64 stride = 1;
  };
  u64 base = 0;
  std::vector<Axis> axes;
  u64 source_rows = 0;  ///< what the source must have in all

  /// Rows of the view; the products were checked when it was made.
  u64 rows() const;
  /// Row of the source that is row `row` of the view.
  u64 source_row(u64 row) const;
  /// Do the rows follow one another in the source, from `base` on?
  bool is_run() const;
  /// The innermost rows that fill a range of the source without gaps, in whatever order: what is read at once. 1 where
  /// the rows of the view run through the source one by one anyway.
  u64 dense_rows() const;

  /// A view of single elements as one of runs, if its innermost axis takes whole runs of the source's rows of
  /// `columns` elements: "E k:K r d -> E r k d" moves runs of d elements. Nothing if it does not.
  std::optional<RowView> of_runs(u64 columns) const;

  /// Calls visit(first, count) -> Status with ranges of the source that hold the view's rows, each once, in whatever
  /// order the rows have inside a range.
  template <typename Visit>
  Status for_each_range(Visit&& visit) const {
    const u64 all = rows();
    const u64 dense = dense_rows();
    const u64 step = dense > 1 || axes.empty() || axes.back().stride != 1 ? dense : axes.back().count;
    for (u64 row = 0; row < all;) {
      const u64 first = first_of(row, step);
      u64 count = 0;
      for (; row < all && first_of(row, step) == first + count; row += step) count += step;
      MU_TRY(visit(first, count));
    }
    return {};
  }

 private:
  // The lowest row of the source among `count` rows of the view.
  u64 first_of(u64 row, u64 count) const;
};

/// All of `rows` rows as they are.
RowView whole_view(u64 rows);
/// `count` rows from the first-th on, of `all`.
RowView run_of_rows(u64 first, u64 count, u64 all);

/// A view read backwards: which row of it a row of the source is.
class InverseView {
 public:
  /// Precondition: no row of the source is in the view twice.
  explicit InverseView(const RowView& view);
  /// Nothing if the row is not in the view.
  std::optional<u64> row_of(u64 source_row) const;

 private:
  struct Axis {
    u64 count, stride, weight;  // weight: rows of the view for one step
  };
  std::vector<Axis> axes_;  // of falling stride
  u64 base_ = 0;
};

/// The view that a row of lib/arch writes as text: "AXES -> AXES". On the left the source's rows as axes, slowest
/// first, `name:size` or a symbol alone, behind `skip:size` rows that are passed over; on the right the axes wanted,
/// slowest first: a name, `name[from:to]` for a part of an axis, `name=index` for one place of it (which then is no
/// axis any more), `repeat:size` for the same rows several times. "H t:2 j:D/2 -> H j t" interleaves the two halves of
/// each of H heads. Nothing if a size has no value or an index lies outside its axis.
std::optional<RowView> resolve_view(std::string_view text, const Sizes& sizes, u64 layer = 0);

/// The left side of such a text as one expression: the rows that the source must have.
std::string source_rows_expression(std::string_view text);

}  // namespace modelutils::arch
