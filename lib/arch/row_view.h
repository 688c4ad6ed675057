// Views of a source's rows: how rows of a Hugging Face or MLX tensor are selected and ordered to form a GGUF tensor.
// Views move whole rows, so quantised rows with their scales and biases stay unchanged, in both directions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/sizes.h"
#include "base/error.h"

namespace modelutils::arch {

/// Rows of one source in the wanted order. Row (i0, i1, …) of the view, with the last index running fastest, is row
/// base + Σ at_k(ik) × stride_k of the source.
struct RowView {
  struct Axis {
    u64 count = 1;
    u64 stride = 1;
    /// Of the first 2 × `pairs` positions, the even ones come first, then the odd ones; the others keep their places.
    u64 pairs = 0;

    /// Returns the position of index i.
    u64 at(u64 i) const { return i < pairs ? 2 * i : i < 2 * pairs ? 2 * (i - pairs) + 1 : i; }
    /// Returns the index of a position, the inverse of at().
    u64 index_of(u64 position) const { return position < 2 * pairs ? position / 2 + position % 2 * pairs : position; }
    /// True if consecutive indices are consecutive rows.
    bool is_run() const { return stride == 1 && pairs == 0; }
  };
  u64 base = 0;
  std::vector<Axis> axes;
  u64 source_rows = 0;  ///< total rows that the source must have

  /// Returns the number of rows in the view. Cannot overflow: the view was checked when it was made.
  u64 rows() const;
  /// Returns the source row for a row of the view.
  u64 source_row(u64 row) const;
  /// True if the rows are consecutive in the source, starting at `base`.
  bool is_run() const;
  /// Returns how many innermost rows fill a gapless range of the source, in any order, so that one read fetches them
  /// all. Returns 1 if the view's rows are consecutive.
  u64 dense_rows() const;

  /// Converts a view of single elements to one of runs, if its innermost axis covers whole runs within the source's
  /// rows of `columns` elements: "E k:K r d -> E r k d" moves runs of d elements. Otherwise returns nullopt.
  std::optional<RowView> of_runs(u64 columns) const;

  /// Calls visit(first, count) -> Status for source ranges that together hold the view's rows, each once. The rows may
  /// be in any order within a range.
  template <typename Visit>
  Status for_each_range(Visit&& visit) const {
    const u64 all = rows();
    const u64 dense = dense_rows();
    const u64 step = dense > 1 || axes.empty() || !axes.back().is_run() ? dense : axes.back().count;
    for (u64 row = 0; row < all;) {
      const u64 first = first_of(row, step);
      u64 count = 0;
      for (; row < all && first_of(row, step) == first + count; row += step) count += step;
      MU_TRY(visit(first, count));
    }
    return {};
  }

 private:
  // Returns the lowest source row among `count` rows of the view.
  u64 first_of(u64 row, u64 count) const;
};

/// Returns a view of all `rows` rows in order.
RowView whole_view(u64 rows);
/// Returns a view of `count` rows of `all`, starting at `first`.
RowView run_of_rows(u64 first, u64 count, u64 all);

/// The inverse of a view, from source rows to rows of the view.
class InverseView {
 public:
  /// Precondition: no source row is in the view twice.
  explicit InverseView(const RowView& view);
  /// Returns nullopt if the row is not in the view.
  std::optional<u64> row_of(u64 source_row) const;

 private:
  struct Axis : RowView::Axis {
    u64 weight;  // distance in view rows for one step
  };
  std::vector<Axis> axes_;  // ordered by falling stride
  u64 base_ = 0;
};

/// Parses a view in a row of lib/arch: "AXES -> AXES". On the left are the axes of the source's rows, slowest first,
/// each `name:size` or a symbol alone; `skip:size` skips rows before them. On the right are the wanted axes, slowest
/// first: a name, `name[from:to]` for part of an axis, `name=index` for a single position (which removes the axis),
/// `name/size` for an axis whose first positions are taken apart, the even ones before the odd ones, or `repeat:size`
/// to repeat rows. "H t:2 j:D/2 -> H j t" interleaves the two halves of each of H heads; "H d:D -> H d/R" does the
/// reverse to the first R rows of each. Returns nullopt if a size is unknown or odd, or an index is outside its axis.
std::optional<RowView> resolve_view(std::string_view text, const Sizes& sizes, u64 layer = 0);

/// Returns the left side of such a text as one expression: the number of rows the source must have.
std::string source_rows_expression(std::string_view text);

}  // namespace modelutils::arch
