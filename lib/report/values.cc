#include "report/values.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/escape.h"
#include "base/text.h"
#include "base/types.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "model/listing/tensor_statistics.h"
#include "report/table.h"

namespace modelutils {

namespace {

std::optional<u64> slice_number(std::string_view text, u64 otherwise) {
  if (text.empty()) return otherwise;
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<ValueSlice> ValueSlice::parse(std::string_view text, const Model& model, const Tensor& tensor) {
  const std::vector<u64> shape = model.in_file_order(model.ne_of(tensor));
  ValueSlice slice;
  slice.first_is_fastest_ = !model.safetensors;
  const auto refuse = [&](std::string_view why) {
    return usage_error(fmt::format("--values {}[{}]: {}", tensor.name, text, why));
  };
  std::string_view rest = text;
  bool more = true;
  for (const u64 size : shape) {
    const std::string_view one = more ? rest.substr(0, rest.find(',')) : std::string_view();
    more = more && one.size() < rest.size();
    rest.remove_prefix(more ? one.size() + 1 : rest.size());
    const std::size_t colon = one.find(':');
    const std::optional<u64> begin = slice_number(one.substr(0, colon), 0);
    const std::optional<u64> end = colon != std::string_view::npos ? slice_number(one.substr(colon + 1), size)
                                   : one.empty() || !begin || *begin == ~u64{0} ? std::optional(size)
                                                                                : std::optional(*begin + 1);
    if (!begin || !end) return refuse("write a range for each dimension, as in [10:20,0:4]");
    if (*begin >= *end || *end > size) return refuse(fmt::format("'{}' is outside this dimension (0:{})", one, size));
    slice.ranges_.push_back({*begin, *end, size});
  }
  if (more || !rest.empty()) return refuse("the tensor has " + counted(shape.size(), "dimension"));
  return slice;
}

std::vector<u64> ValueSlice::shape() const {
  std::vector<u64> shape;
  for (const Range& range : ranges_) shape.push_back(range.end - range.begin);
  return shape;
}

bool ValueSlice::contains(u64 index) const {
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const Range& range = ranges_[first_is_fastest_ ? i : ranges_.size() - 1 - i];
    const u64 at = index % range.size;
    if (at < range.begin || at >= range.end) return false;
    index /= range.size;
  }
  return true;
}

u64 ValueSlice::end() const {
  u64 last = 0;
  for (std::size_t i = ranges_.size(); i-- > 0;) {
    const Range& range = ranges_[first_is_fastest_ ? i : ranges_.size() - 1 - i];
    last = last * range.size + range.end - 1;
  }
  return last + 1;
}

std::optional<SlicedName> sliced_name(std::string_view text) {
  const std::size_t bracket = text.rfind('[');
  if (!text.ends_with(']') || bracket == std::string_view::npos || bracket == 0) return std::nullopt;
  return SlicedName{text.substr(0, bracket), text.substr(bracket + 1, text.size() - bracket - 2)};
}

namespace {

std::string text_of(float value) {
  return float_text(value);
}
std::string text_of(double value) {
  return float_text(value);
}
std::string text_of(u64 value) {
  return std::to_string(value);
}
std::string text_of(i64 value) {
  return std::to_string(value);
}

void write_json_row(json::Writer& writer, const TensorStatistics& row, const std::string& path) {
  {
    const auto in_object = writer.object();
    writer.member("schema", "stats/1");
    if (!path.empty()) writer.member("path", path);
    writer.member("name", row.name);
    writer.member("type", row.type);
    writer.values("shape", row.shape);
    writer.member_or_null("count", checked_product(row.shape));
    if (row.problem.empty()) {
      const Statistics& s = row.statistics;
      const auto if_any = [&](double value) { return s.finite() > 0 ? std::optional<double>(value) : std::nullopt; };
      writer.member_or_null("min", if_any(s.min));
      writer.member_or_null("max", if_any(s.max));
      writer.member_or_null("mean", if_any(s.mean));
      writer.member_or_null("std", if_any(s.deviation));
      writer.member("zeros", s.zeros);
      writer.member("nan", s.nans);
      writer.member("inf", s.infs);
      writer.member("dead_rows", row.dead_rows);
      if (row.duplicate_of != nullptr) writer.member("duplicate_of", row.duplicate_of->name);
      if (!row.histogram.empty()) {
        writer.values("histogram", row.histogram);
      }
    } else {
      writer.member("error", row.problem);
    }
  }
  writer.end_line();
}

// Draws a bar of up to eight heights for each bin; the fullest bin has the full height.
std::string bars(const std::vector<u64>& histogram) {
  constexpr std::string_view heights[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const u64 most = histogram.empty() ? 1 : *std::max_element(histogram.begin(), histogram.end());
  std::string text;
  for (const u64 bin : histogram) {
    const double share = 8.0 * static_cast<double>(bin) / static_cast<double>(most);
    text += heights[bin == 0 ? 0 : std::max<std::size_t>(1, static_cast<std::size_t>(share + 0.5))];
  }
  return text;
}

void write_csv_of(TextOutput& out, std::span<const TensorStatistics> rows, const StatisticsOptions& options) {
  if (options.first) {
    out << (options.path.empty() ? "" : "file,")
        << "name,type,count,min,max,mean,std,zeros,nan,inf,histogram,error,dead_rows,duplicate_of\n";
  }
  for (const TensorStatistics& row : rows) {
    const Statistics& s = row.statistics;
    const bool any = row.problem.empty() && s.finite() > 0;
    const auto number = [&](double value) { return any ? float_text(value) : std::string(); };
    const auto count = [&](u64 value) { return row.problem.empty() ? std::to_string(value) : std::string(); };
    const std::optional<u64> elements = checked_product(row.shape);
    std::string bins;
    for (const u64 bin : row.histogram) bins += (bins.empty() ? "" : " ") + std::to_string(bin);
    if (!options.path.empty()) out << csv_field(options.path) << ",";
    out << fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(row.name), csv_field(row.type),
                       elements ? std::to_string(*elements) : std::string(), number(s.min), number(s.max),
                       number(s.mean), number(s.deviation), count(s.zeros), count(s.nans), count(s.infs), bins,
                       csv_field(row.problem), count(row.dead_rows),
                       row.duplicate_of != nullptr ? csv_field(row.duplicate_of->name) : std::string());
  }
}

// Notes tensors whose contents are identical.
void write_duplicates(TextOutput& out, std::span<const TensorStatistics> rows, const StatisticsOptions& options) {
  bool is_first = true;
  for (const TensorStatistics& row : rows) {
    if (row.duplicate_of == nullptr) continue;
    if (is_first) out << "\n" << options.style(Paint::title, "The same values") << "\n";
    is_first = false;
    const std::string name = escape(row.name), first = escape(row.duplicate_of->name);
    const bool fits = options.width == 0 || 5 + display_width(name) + display_width(first) <= options.width;
    out << "  " << name << (fits ? " = " : "\n    = ") << first << "\n";
  }
}

void write_table_of(TextOutput& out, std::span<const TensorStatistics> rows, const StatisticsOptions& options) {
  const auto number = [](double value) { return fmt::format("{:.5g}", value); };
  const bool has_dead_rows = std::ranges::any_of(rows, [](const auto& row) { return row.dead_rows > 0; });
  const auto fill = [&](std::size_t i, std::vector<Cell>& cells) {
    const TensorStatistics& row = rows[i];
    const Statistics& s = row.statistics;
    const std::optional<u64> count = checked_product(row.shape);
    for (Cell& cell : cells) cell = {};
    cells[0] = {escape(row.name), Paint::plain};
    cells[1] = {escape(row.type), type_paint(row.stored_type)};
    cells[2] = {count ? thousands(*count) : "?", Paint::plain};
    if (!row.problem.empty()) {
      cells.back() = {row.problem, Paint::bad};
      return;
    }
    const bool any = s.finite() > 0;
    const double numbers[] = {s.min, s.max, s.mean, s.deviation};
    for (std::size_t k = 0; k < 4; ++k) cells[3 + k] = {any ? number(numbers[k]) : "-", Paint::plain};
    cells[7] = {thousands(s.zeros), Paint::faint};
    cells[8] = {thousands(s.nans), s.nans > 0 ? Paint::bad : Paint::faint};
    cells[9] = {thousands(s.infs), s.infs > 0 ? Paint::bad : Paint::faint};
    cells[10] = {bars(row.histogram), Paint::label};
    if (has_dead_rows) cells[11] = {thousands(row.dead_rows), row.dead_rows > 0 ? Paint::bad : Paint::faint};
  };
  if (!options.path.empty()) out << options.style(Paint::title, escape(options.path)) << "\n";
  std::vector<Column> columns = {{"name", Align::left, 16, 0, 0, true},
                                 {"type", Align::left, 0, 6},
                                 {"count", Align::right, 0, 5},
                                 {"min", Align::right},
                                 {"max", Align::right},
                                 {"mean", Align::right, 0, 1},
                                 {"std", Align::right, 0, 2},
                                 {"zeros", Align::right, 0, 4},
                                 {"NaN", Align::right},
                                 {"Inf", Align::right},
                                 {"min to max", Align::left, 0, 7}};
  if (has_dead_rows) columns.push_back({"dead rows", Align::right});
  columns.push_back({"", Align::left, 12});
  write_table(out, columns, rows.size(), fill, {options.width, 2, true, options.style});
  write_duplicates(out, rows, options);
}

}  // namespace

Status write_values(TextOutput& out, const Model& model, const Tensor& tensor, const ValuesOptions& options) {
  ValueReader reader(model, tensor, options.raw);
  u64 left = options.count.value_or(reader.available());
  u64 index = 0;
  // True if the next value should be printed. Nothing is read after the last one.
  const auto is_wanted = [&] {
    if (left == 0 || (options.slice && !options.slice->contains(index++))) return false;
    --left;
    return true;
  };
  u64 count = std::min(reader.available(), left);
  if (options.slice) count = left == 0 ? 0 : std::min(reader.available(), options.slice->end());
  if (!options.json) {
    return reader.read(count, [&](auto value) {
      if (!is_wanted()) return left > 0;
      out << text_of(value) << "\n";
      return !out.closed();
    });
  }
  json::Writer writer(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  {
    const auto in_object = writer.object();
    writer.member("schema", "values/1");
    if (!options.path.empty()) writer.member("path", options.path);
    writer.member("name", tensor.name);
    const bool is_stored = options.raw && tensor.type;
    writer.member("type", is_stored ? std::string(type_name(*tensor.type)) : model.type_text(tensor));
    writer.values("shape", model.in_file_order(options.raw ? tensor.ne : model.ne_of(tensor)));
    if (options.slice) {
      writer.values("slice_shape", options.slice->shape());
    }
    const auto in_values = writer.array("values");
    MU_TRY(reader.read(count, [&](auto value) {
      if (!is_wanted()) return left > 0;
      writer.number(value);
      return !out.closed();
    }));
  }
  writer.end_line();
  writer.flush();
  return {};
}

void write_statistics(TextOutput& out, std::span<const TensorStatistics> rows, const StatisticsOptions& options) {
  if (options.csv) return write_csv_of(out, rows, options);
  if (!options.json) {
    write_table_of(out, rows, options);
    return;
  }
  json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  for (const TensorStatistics& row : rows) write_json_row(json, row, options.path);
  json.flush();
}

}  // namespace modelutils
