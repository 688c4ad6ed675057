#include "report/values.h"

#include <fmt/core.h>

#include "base/checked_math.h"
#include "base/escape.h"
#include "base/numbers.h"
#include "json/writer.h"
#include "listing/value_reader.h"
#include "report/json_value.h"
#include "report/table.h"

namespace modelutils {

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
  const auto number_or_null = [&](std::string_view name, std::optional<double> value) {
    writer.key(name);
    value ? writer.number(*value) : writer.null();
  };
  writer.begin_object();
  writer.member("schema", "stats/1");
  if (!path.empty()) writer.member("path", path);
  writer.member("name", row.tensor->name);
  writer.member("type", row.tensor->type);
  write_shape(writer, row.tensor->shape);
  writer.key("count");
  const std::optional<u64> count = checked_product(row.tensor->shape);
  count ? writer.number(*count) : writer.null();
  if (row.problem.empty()) {
    const Statistics& s = row.statistics;
    const auto if_any = [&](double value) { return s.finite() > 0 ? std::optional<double>(value) : std::nullopt; };
    number_or_null("min", if_any(s.min));
    number_or_null("max", if_any(s.max));
    number_or_null("mean", if_any(s.mean));
    number_or_null("std", if_any(s.deviation));
    writer.member("zeros", s.zeros);
    writer.member("nan", s.nans);
    writer.member("inf", s.infs);
  } else {
    writer.member("error", row.problem);
  }
  writer.end_object();
  writer.end_line();
}

void write_table_of(TextOutput& out, std::span<const TensorStatistics> rows, const StatisticsOptions& options) {
  const auto number = [](double value) { return fmt::format("{:.5g}", value); };
  const auto fill = [&](std::size_t i, std::vector<Cell>& cells) {
    const TensorStatistics& row = rows[i];
    const Statistics& s = row.statistics;
    const std::optional<u64> count = checked_product(row.tensor->shape);
    for (Cell& cell : cells) cell = {};
    cells[0] = {escape(row.tensor->name), Paint::plain};
    cells[1] = {escape(row.tensor->type), type_paint(row.tensor->stored_type)};
    cells[2] = {count ? thousands(*count) : "?", Paint::plain};
    if (!row.problem.empty()) {
      cells[10] = {row.problem, Paint::bad};
      return;
    }
    const bool any = s.finite() > 0;
    const double numbers[] = {s.min, s.max, s.mean, s.deviation};
    for (std::size_t k = 0; k < 4; ++k) cells[3 + k] = {any ? number(numbers[k]) : "-", Paint::plain};
    cells[7] = {thousands(s.zeros), Paint::faint};
    cells[8] = {thousands(s.nans), s.nans > 0 ? Paint::bad : Paint::faint};
    cells[9] = {thousands(s.infs), s.infs > 0 ? Paint::bad : Paint::faint};
  };
  if (!options.path.empty()) out << options.style(Paint::title, escape(options.path)) << "\n";
  write_table(out,
              {{"name", Align::left, 30, 0, 0, true},
               {"type", Align::left, 0, 2},
               {"count", Align::right, 0, 4},
               {"min", Align::right},
               {"max", Align::right},
               {"mean", Align::right},
               {"std", Align::right, 0, 1},
               {"zeros", Align::right, 0, 3},
               {"NaN", Align::right},
               {"Inf", Align::right},
               {"", Align::left}},
              rows.size(), fill, {options.width, 2, true, options.style});
}

}  // namespace

Status write_values(TextOutput& out, const ValueSource& tensor, const ValuesOptions& options) {
  ValueReader reader(tensor, options.raw);
  const u64 count = std::min(reader.available(), options.count.value_or(reader.available()));
  if (!options.json) {
    return reader.read(count, [&](auto value) {
      out << text_of(value) << "\n";
      return !out.closed();
    });
  }
  json::Writer writer(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  writer.begin_object();
  writer.member("schema", "values/1");
  if (!options.path.empty()) writer.member("path", options.path);
  writer.member("name", tensor.name);
  const std::string_view stored_type = tensor.stored_type ? type_name(*tensor.stored_type) : "unknown";
  writer.member("type", options.raw ? stored_type : std::string_view(tensor.type));
  write_shape(writer, options.raw ? tensor.stored_shape : tensor.shape);
  writer.key("values");
  writer.begin_array();
  MU_TRY(reader.read(count, [&](auto value) {
    writer.number(value);
    return !out.closed();
  }));
  writer.end_array();
  writer.end_object();
  writer.end_line();
  writer.flush();
  return {};
}

void write_statistics(TextOutput& out, std::span<const TensorStatistics> rows, const StatisticsOptions& options) {
  if (!options.json) {
    write_table_of(out, rows, options);
    return;
  }
  json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  for (const TensorStatistics& row : rows) write_json_row(json, row, options.path);
  json.flush();
}

}  // namespace modelutils
