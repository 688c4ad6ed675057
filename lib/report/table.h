// Aligned columns that respect the terminal's width.
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
  std::size_t min_width = 0;   ///< may be cut down to this many columns, with "…"; 0: never cut
  int drop_rank = 0;           ///< left out if the width does not suffice, the highest rank first; 0: never
  int cut_rank = 0;            ///< columns of a higher rank are cut first, all down to their min_width
  bool cut_in_middle = false;  ///< names: their end says as much as their beginning
};

/// Printable text: whoever fills a cell has escaped what came from a file.
struct Cell {
  std::string text;
  Paint paint = Paint::plain;
};

/// Fills the cells of row `row`, as many as there are columns; each still holds what an earlier row put there. Called
/// twice for each row (measure, print), so that a table of 100,000 rows takes little memory, and for different rows by
/// several threads at once.
using RowSource = std::function<void(std::size_t row, std::vector<Cell>& cells)>;

struct TableOptions {
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit
  std::size_t indent = 2;
  bool header = true;
  Style style{false};
};

/// Writes the table. Where even the narrowest form does not fit, lines are longer than the width.
void write_table(TextOutput& out, const std::vector<Column>& columns, std::size_t rows, const RowSource& row_source,
                 const TableOptions& options);

}  // namespace modelutils
