#include "arch/row_view.h"

#include <algorithm>

#include "arch/row_text.h"
#include "base/types.h"

namespace modelutils::arch {

namespace {

struct SourceAxis {
  std::string_view name;
  u64 count;
  u64 stride;
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::string_view word = take_word(text);
    if (word.empty()) return words;
    words.push_back(word);
  }
}

class Resolver {
 public:
  Resolver(const Sizes& sizes, u64 layer) : sizes_(sizes), layer_(layer) {}

  std::optional<RowView> resolve(std::string_view text) {
    if (!read_source(left_of_view(text))) return std::nullopt;
    for (const std::string_view word : words_of(right_of_view(text))) {
      if (!read_wanted(word)) return std::nullopt;
    }
    return std::move(view_);
  }

 private:
  bool read_source(std::string_view left) {
    for (const std::string_view word : words_of(left)) {
      const auto [name, size] = axis_text(word);
      const std::optional<u64> count = evaluate(size, sizes_, layer_);
      if (!count || *count == 0) return false;
      if (name == view_skip) {
        view_.base = *count;
        continue;
      }
      axes_.push_back({name, *count, 1});
    }
    u64 rows = 1;
    for (std::size_t i = axes_.size(); i-- > 0;) {
      axes_[i].stride = rows;
      const std::optional<u64> more = checked_mul(rows, axes_[i].count);
      if (!more) return false;
      rows = *more;
    }
    const std::optional<u64> all = checked_add(view_.base, rows);
    view_.source_rows = all.value_or(0);
    return all && !axes_.empty();
  }

  // Indices stay within their axes, so the sums of index × stride stay below source_rows.
  bool read_wanted(std::string_view word) {
    const WantedAxis wanted = wanted_axis(word);
    if (!wanted.is_read) return false;
    if (!wanted.times.empty()) {
      const std::optional<u64> times = evaluate(wanted.times, sizes_, layer_);
      if (!times || *times == 0) return false;
      view_.axes.push_back({*times, 0});
      return true;
    }
    const auto axis = std::find_if(axes_.begin(), axes_.end(),
                                   [&](const SourceAxis& candidate) { return candidate.name == wanted.name; });
    if (axis == axes_.end()) return false;
    if (wanted.is_whole) {
      view_.axes.push_back({axis->count, axis->stride});
      return true;
    }
    if (!wanted.apart.empty()) {
      const std::optional<u64> apart = evaluate(wanted.apart, sizes_, layer_);
      if (!apart || *apart == 0 || *apart % 2 != 0 || *apart > axis->count) return false;
      view_.axes.push_back({axis->count, axis->stride, *apart / 2});
      return true;
    }
    if (!wanted.index.empty()) {
      const std::optional<u64> index = evaluate(wanted.index, sizes_, layer_);
      if (!index || *index >= axis->count) return false;
      view_.base += *index * axis->stride;
      return true;
    }
    const std::optional<u64> from = evaluate(wanted.from, sizes_, layer_);
    const std::optional<u64> to = evaluate(wanted.to, sizes_, layer_);
    if (!from || !to || *from >= *to || *to > axis->count) return false;
    view_.base += *from * axis->stride;
    view_.axes.push_back({*to - *from, axis->stride});
    return true;
  }

  const Sizes& sizes_;
  u64 layer_;
  std::vector<SourceAxis> axes_;
  RowView view_;
};

}  // namespace

u64 RowView::rows() const {
  u64 product = 1;
  for (const Axis& axis : axes) product *= axis.count;
  return product;
}

u64 RowView::source_row(u64 row) const {
  u64 source = base;
  for (std::size_t i = axes.size(); i-- > 0;) {
    source += axes[i].at(row % axes[i].count) * axes[i].stride;
    row /= axes[i].count;
  }
  return source;
}

bool RowView::is_run() const {
  u64 stride = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (axes[i].count != 1 && (axes[i].stride != stride || axes[i].pairs != 0)) return false;
    stride *= axes[i].count;
  }
  return true;
}

u64 RowView::dense_rows() const {
  if (axes.empty() || axes.back().is_run()) return 1;
  u64 count = 1;
  u64 span = 1;  // distance from the first to the last row of the innermost axes, inclusive
  for (std::size_t i = axes.size(); i-- > 0;) {
    count *= axes[i].count;
    span += (axes[i].count - 1) * axes[i].stride;
    if (span == count) return count;
  }
  return 1;
}

std::optional<RowView> RowView::of_runs(u64 columns) const {
  if (axes.size() < 2 || !axes.back().is_run() || columns % axes.back().count != 0) return std::nullopt;
  const u64 length = axes.back().count;
  RowView runs{base / length, axes, source_rows / length};
  runs.axes.pop_back();
  bool is_whole = base % length == 0;
  for (Axis& axis : runs.axes) {
    is_whole = is_whole && axis.stride % length == 0;
    axis.stride /= length;
  }
  return is_whole ? std::optional(std::move(runs)) : std::nullopt;
}

u64 RowView::first_of(u64 row, u64 count) const {
  u64 first = source_row(row);
  for (u64 k = 1; !axes.back().is_run() && k < count; ++k) first = std::min(first, source_row(row + k));
  return first;
}

RowView whole_view(u64 rows) {
  return run_of_rows(0, rows, rows);
}

RowView run_of_rows(u64 first, u64 count, u64 all) {
  return {first, {{count, 1}}, all};
}

InverseView::InverseView(const RowView& view) : base_(view.base) {
  u64 weight = 1;
  for (std::size_t i = view.axes.size(); i-- > 0;) {
    axes_.push_back({view.axes[i], weight});
    weight *= view.axes[i].count;
  }
  std::stable_sort(axes_.begin(), axes_.end(), [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
}

std::optional<u64> InverseView::row_of(u64 source_row) const {
  if (source_row < base_) return std::nullopt;
  u64 rest = source_row - base_;
  u64 row = 0;
  for (const Axis& axis : axes_) {
    const u64 place = rest / axis.stride;
    if (place >= axis.count) return std::nullopt;
    row += axis.index_of(place) * axis.weight;
    rest -= place * axis.stride;
  }
  return rest == 0 ? std::optional(row) : std::nullopt;
}

std::optional<RowView> resolve_view(std::string_view text, const Sizes& sizes, u64 layer) {
  return Resolver(sizes, layer).resolve(text);
}

std::string source_rows_expression(std::string_view text) {
  std::string product;
  std::string skipped;
  for (const std::string_view word : words_of(left_of_view(text))) {
    const auto [name, size] = axis_text(word);
    std::string& out = name == view_skip ? skipped : product;
    if (!out.empty()) out += '*';
    out += '(';
    out += size;
    out += ')';
  }
  return skipped.empty() ? product : skipped + "+" + product;
}

}  // namespace modelutils::arch
