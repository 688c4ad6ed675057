// Aligned columns that fit the terminal's width.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/text_output.h"
#include "report/style.h"

namespace modelutils {

enum class Align : u8 { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  std::size_t min_width = 0;   ///< the column may be cut to this width, with "…"; 0: never cut
  int drop_rank = 0;           ///< columns are dropped if the width is too small, the highest rank first; 0: never
                               ///< dropped
  int cut_rank = 0;            ///< columns with a higher rank are cut first, each down to its min_width
  bool cut_in_middle = false;  ///< for names, whose end matters as much as their beginning
};

/// Printable text: the caller has escaped text from files.
struct Cell {
  std::string text;
  Paint paint = Paint::plain;
};

/// Fills the cells of row `row`, one per column; each cell still holds the content of an earlier row. Called twice for
/// each row (to measure, to print), so that a table of 100,000 rows takes little memory. Several threads call it at
/// once for different rows.
using RowSource = std::function<void(std::size_t row, std::vector<Cell>& cells)>;

struct TableOptions {
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit
  std::size_t indent = 2;
  bool header = true;
  Style style{false};
};

/// Writes the table. If even the narrowest form does not fit, lines exceed the width.
void write_table(TextOutput& out, const std::vector<Column>& columns, std::size_t rows, const RowSource& row_source,
                 const TableOptions& options);

}  // namespace modelutils
