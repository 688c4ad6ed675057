#include "report/table.h"

#include <algorithm>

#include "base/terminal_text.h"
#include "base/utf8.h"

namespace modelutils {

namespace {

constexpr std::size_t gap = 2;  // between columns

std::size_t line_width(const std::vector<Column>& columns, const std::vector<std::size_t>& widths, std::size_t indent) {
  std::size_t total = indent;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (widths[i] == 0) continue;
    total += widths[i] + (shown++ == 0 ? 0 : gap);
  }
  return total;
}

// Drops columns and cuts others until a line fits, or nothing more can be given up. A width of 0 is a dropped column.
void fit(const std::vector<Column>& columns, std::vector<std::size_t>& widths, const TableOptions& options) {
  if (options.width == 0) return;
  const auto excess = [&]() -> std::size_t {
    const std::size_t total = line_width(columns, widths, options.indent);
    return total > options.width ? total - options.width : 0;
  };
  // What cutting alone can give.
  const auto slack = [&] {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].min_width > 0 && widths[i] > columns[i].min_width) sum += widths[i] - columns[i].min_width;
    }
    return sum;
  };
  while (excess() > slack()) {
    std::size_t drop = columns.size();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (widths[i] == 0 || columns[i].drop_rank == 0) continue;
      if (drop == columns.size() || columns[i].drop_rank > columns[drop].drop_rank) drop = i;
    }
    if (drop == columns.size()) break;
    widths[drop] = 0;
  }
  // Of the highest rank that has something left, the widest gives first.
  for (std::size_t left = excess(); left > 0; --left) {
    std::size_t best = columns.size();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].min_width == 0 || widths[i] <= columns[i].min_width) continue;
      if (best == columns.size() || columns[i].cut_rank > columns[best].cut_rank ||
          (columns[i].cut_rank == columns[best].cut_rank && widths[i] > widths[best])) {
        best = i;
      }
    }
    if (best == columns.size()) return;
    --widths[best];
  }
}

}  // namespace

void write_table(TextOutput& out, const std::vector<Column>& columns, std::size_t rows, const RowSource& row_source,
                 const TableOptions& options) {
  std::vector<std::size_t> widths(columns.size(), 1);
  if (options.header) {
    for (std::size_t i = 0; i < columns.size(); ++i) widths[i] = std::max(widths[i], display_width(columns[i].title));
  }
  std::vector<Cell> cells(columns.size());
  for (std::size_t row = 0; row < rows; ++row) {
    row_source(row, cells);
    for (std::size_t i = 0; i < columns.size(); ++i) widths[i] = std::max(widths[i], display_width(cells[i].text));
  }
  fit(columns, widths, options);

  std::string line;
  const auto write_line = [&] {
    line.clear();
    std::size_t before = options.indent;  // blanks
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (widths[i] == 0) continue;
      std::size_t used = display_width(cells[i].text);
      if (used > widths[i]) {
        cells[i].text =
            columns[i].cut_in_middle ? cut_middle(cells[i].text, widths[i]) : cut_text(cells[i].text, widths[i]);
        used = display_width(cells[i].text);
      }
      const std::size_t blank = widths[i] > used ? widths[i] - used : 0;
      before += columns[i].align == Align::right ? blank : 0;
      line.append(before, ' ');
      if (options.style.color()) {
        line += options.style(cells[i].paint, cells[i].text);
      } else {
        line += cells[i].text;
      }
      before = gap + (columns[i].align == Align::left ? blank : 0);
    }
    while (line.ends_with(' ')) line.pop_back();
    line += '\n';
    out << line;
  };
  if (options.header) {
    for (std::size_t i = 0; i < columns.size(); ++i) cells[i] = {columns[i].title, Paint::heading};
    write_line();
  }
  for (std::size_t row = 0; row < rows && !out.closed(); ++row) {
    row_source(row, cells);
    write_line();
  }
}

}  // namespace modelutils
