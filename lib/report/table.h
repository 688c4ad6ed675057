// Output for terminals: colours by meaning, aligned columns, and lines of facts, all within the terminal's width.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/standard_output.h"
#include "tensor/types.h"

namespace modelutils {

// Terminal colours by meaning, or none at all.

/// The meaning of a piece of text. Only this file's code maps it to a colour.
enum class Paint : u8 {
  plain,
  title,
  heading,
  label,
  faint,
  text,
  number,
  bad,
  added,
  removed,
  bits_16,
  bits_8,
  bits_6,
  bits_4,
  bits_2
};

/// Returns the colour for a number of bits per weight: green for 16 and more, cyan from 7, blue from 5, yellow from
/// 3.5, magenta below.
Paint bits_paint(double bits);
/// Returns the colour for a type's bits per weight; `bad` for unknown types.
Paint type_paint(std::optional<TensorType> type);

/// Wraps printable text, already escaped, in the terminal's colour codes if colours are wanted.
class Style {
 public:
  explicit Style(bool color) : color_(color) {}
  bool color() const { return color_; }
  std::string operator()(Paint paint, std::string_view text) const;

 private:
  bool color_;
};

enum class Align : u8 { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  std::size_t min_width = 0;  ///< the column may be cut to this width, with "…"; 0: never cut
  int drop_rank = 0;          ///< columns are dropped if the width is too small, the highest rank first; 0: never
                              ///< dropped
  int cut_rank = 0;           ///< columns with a higher rank are cut first, each down to its min_width
  bool is_name = false;       ///< cut in the middle, at a tensor's layer, and never so far that two names look the same
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

// The lines of a card, "  label         one · another", broken between facts at the terminal's width.

inline constexpr std::size_t fact_label_columns = 14;

/// Returns one line or several, with a line feed; empty if all facts are empty. Facts are printable and may be
/// coloured. `width`: columns of the terminal; 0: not limited.
std::string fact_lines(std::string_view label, const std::vector<std::string>& facts, std::size_t width,
                       const Style& style);

}  // namespace modelutils
