#include "report/table.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/parallel.h"
#include "base/utf8.h"

namespace modelutils {

namespace {

std::string_view code_of(Paint paint) {
  switch (paint) {
    case Paint::plain: return {};
    case Paint::title: return "1";
    case Paint::heading: return "1;4";
    case Paint::label: return "36";
    case Paint::faint: return "2";
    case Paint::text: return "32";
    case Paint::number: return "33";
    case Paint::bad: return "1;31";
    case Paint::added: return "32";
    case Paint::removed: return "31";
    case Paint::bits_16: return "32";
    case Paint::bits_8: return "36";
    case Paint::bits_6: return "94";
    case Paint::bits_4: return "33";
    case Paint::bits_2: return "35";
  }
  return {};
}

}  // namespace

Paint bits_paint(double bits) {
  if (bits >= 15) return Paint::bits_16;
  if (bits >= 7) return Paint::bits_8;
  if (bits >= 5) return Paint::bits_6;
  if (bits >= 3.5) return Paint::bits_4;
  return Paint::bits_2;
}

Paint type_paint(std::optional<TensorType> type) {
  if (!type) return Paint::bad;
  const TypeInfo& info = type_info(*type);
  return bits_paint(8.0 * info.block_bytes / info.block_elements);
}

std::string Style::operator()(Paint paint, std::string_view text) const {
  const std::string_view code = color_ ? code_of(paint) : std::string_view{};
  if (code.empty() || text.empty()) return std::string(text);
  std::string out = "\033[";
  out += code;
  out += 'm';
  out += text;
  out += "\033[0m";
  return out;
}

namespace {

constexpr std::size_t gap = 2;  // blanks between columns

std::size_t line_width(const std::vector<Column>& columns, const std::vector<std::size_t>& widths, std::size_t indent) {
  std::size_t total = indent;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (widths[i] == 0) continue;
    total += widths[i] + (shown++ == 0 ? 0 : gap);
  }
  return total;
}

// Drops columns and cuts others until a line fits or nothing can be reduced further. A dropped column has width 0.
void fit(const std::vector<Column>& columns, std::vector<std::size_t>& widths, const TableOptions& options) {
  if (options.width == 0) return;
  const auto excess = [&]() -> std::size_t {
    const std::size_t total = line_width(columns, widths, options.indent);
    return total > options.width ? total - options.width : 0;
  };
  // Number of terminal columns that cutting texts can save.
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
  // Among the highest rank that can still be cut, shrinks the widest column first.
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

// Cuts a name between dots so that its layer and its end remain: "model.layers.12.self_attn.q_proj.weight" becomes
// "model.…12.self_attn.q_proj.weight", in fewer columns "…12.…q_proj.weight". Names without a layer are cut in the
// middle.
std::string cut_name(std::string_view name, std::size_t columns) {
  if (name.size() <= columns || display_width(name) <= columns) return std::string(name);
  std::size_t layer = 0;
  while (layer < name.size()) {
    const std::string_view part = name.substr(layer, name.find('.', layer) - layer);
    if (layer > 0 && !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos) break;
    layer += part.size() + 1;
  }
  if (layer >= name.size()) return cut_middle(name, columns);
  const std::string_view from_layer = name.substr(layer);
  const std::size_t kept = display_width(from_layer);
  if (kept < columns) {
    std::string_view begin = name.substr(0, layer - 1);
    do {
      begin = begin.substr(0, begin.rfind('.') + 1);
      if (!begin.empty()) begin.remove_suffix(1);
    } while (!begin.empty() && display_width(begin) + 2 + kept > columns);
    return std::string(begin) + (begin.empty() ? "…" : ".…") + std::string(from_layer);
  }
  const std::size_t dot = from_layer.find('.');
  const std::string begin = "…" + std::string(from_layer.substr(0, dot)) + ".…";
  for (std::size_t at = dot; at != std::string_view::npos; at = from_layer.find('.', at + 1)) {
    const std::string_view end = from_layer.substr(at + 1);
    if (display_width(begin) + display_width(end) <= columns) return begin + std::string(end);
  }
  return cut_middle(name, columns);
}

// Writes a table with all threads, one chunk of rows at a time: one pass measures, one prints. Tables of up to one
// chunk use no extra thread.
class TableWriter {
 public:
  TableWriter(const std::vector<Column>& columns, const RowSource& row_source, const TableOptions& options)
      : columns_(columns), row_source_(row_source), options_(options) {}

  void write(TextOutput& out, std::size_t rows);

 private:
  static constexpr std::size_t chunk_rows = 1024;
  static std::size_t chunks(std::size_t rows) { return rows / chunk_rows + (rows % chunk_rows != 0); }

  void measure(std::size_t rows);
  void fit_width(std::size_t rows);
  std::optional<std::size_t> ambiguous_column(const std::vector<std::size_t>& natural, std::size_t rows) const;
  void append_rows(std::string& text, std::size_t begin, std::size_t end) const;
  void append_line(std::string& text, std::vector<Cell>& cells) const;

  const std::vector<Column>& columns_;
  const RowSource& row_source_;
  const TableOptions& options_;
  std::vector<std::size_t> widths_;
  unsigned threads_ = default_threads();
};

void TableWriter::measure(std::size_t rows) {
  widths_.assign(columns_.size(), 1);
  if (options_.header) {
    for (std::size_t i = 0; i < columns_.size(); ++i)
      widths_[i] = std::max(widths_[i], display_width(columns_[i].title));
  }
  std::vector<std::vector<std::size_t>> widest(threads_, widths_);
  (void)parallel_for(chunks(rows), threads_, [&](u64 chunk, unsigned thread) -> Status {
    std::vector<std::size_t>& widths = widest[thread];
    std::vector<Cell> cells(columns_.size());
    const std::size_t end = std::min<std::size_t>(rows, (chunk + 1) * chunk_rows);
    for (std::size_t row = chunk * chunk_rows; row < end; ++row) {
      row_source_(row, cells);
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        // A character is never wider than its number of bytes.
        if (cells[i].text.size() > widths[i]) widths[i] = std::max(widths[i], display_width(cells[i].text));
      }
    }
    return {};
  });
  for (const std::vector<std::size_t>& widths : widest) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths_[i] = std::max(widths_[i], widths[i]);
  }
}

// Fits the columns into the width. A column of names stays so wide that different names are not cut to the same text.
void TableWriter::fit_width(std::size_t rows) {
  const std::vector<std::size_t> natural = widths_;
  std::vector<Column> columns = columns_;
  fit(columns, widths_, options_);
  while (const std::optional<std::size_t> column = ambiguous_column(natural, rows)) {
    columns[*column].min_width = widths_[*column] + 1;
    widths_ = natural;
    fit(columns, widths_, options_);
  }
}

// Returns the first column of names with two different ones that are cut to the same text.
std::optional<std::size_t> TableWriter::ambiguous_column(const std::vector<std::size_t>& natural,
                                                         std::size_t rows) const {
  std::vector<Cell> cells(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!columns_[i].is_name || widths_[i] == 0 || widths_[i] >= natural[i]) continue;
    std::unordered_map<std::string, std::size_t> whole;  // hash of the name for each cut text
    for (std::size_t row = 0; row < rows; ++row) {
      row_source_(row, cells);
      const std::size_t hash = std::hash<std::string>()(cells[i].text);
      const auto [place, is_new] = whole.try_emplace(cut_name(cells[i].text, widths_[i]), hash);
      if (!is_new && place->second != hash) return i;
    }
  }
  return std::nullopt;
}

void TableWriter::append_line(std::string& text, std::vector<Cell>& cells) const {
  std::size_t blanks = options_.indent;  // pending before the next cell
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (widths_[i] == 0) continue;
    Cell& cell = cells[i];
    std::size_t used = display_width(cell.text);
    if (used > widths_[i]) {
      cell.text = columns_[i].is_name ? cut_name(cell.text, widths_[i]) : cut_text(cell.text, widths_[i]);
      used = display_width(cell.text);
    }
    const std::size_t missing = widths_[i] > used ? widths_[i] - used : 0;
    const bool is_right = columns_[i].align == Align::right;
    text.append(blanks + (is_right ? missing : 0), ' ');
    if (options_.style.color()) {
      text += options_.style(cell.paint, cell.text);
    } else {
      text += cell.text;
    }
    blanks = gap + (is_right ? 0 : missing);
  }
  text.resize(text.find_last_not_of(' ') + 1);
  text += '\n';
}

void TableWriter::append_rows(std::string& text, std::size_t begin, std::size_t end) const {
  std::vector<Cell> cells(columns_.size());
  for (std::size_t row = begin; row < end; ++row) {
    row_source_(row, cells);
    append_line(text, cells);
  }
}

void TableWriter::write(TextOutput& out, std::size_t rows) {
  measure(rows);
  fit_width(rows);
  if (options_.header) {
    std::vector<Cell> titles;
    for (const Column& column : columns_) titles.push_back({column.title, Paint::heading});
    std::string line;
    append_line(line, titles);
    out << line;
  }
  std::vector<std::string> texts(threads_ * std::size_t{8});
  for (std::size_t done = 0; done < chunks(rows) && !out.closed(); done += texts.size()) {
    (void)parallel_for(std::min(texts.size(), chunks(rows) - done), threads_, [&](u64 item, unsigned) -> Status {
      texts[item].clear();
      const std::size_t begin = (done + item) * chunk_rows;
      append_rows(texts[item], begin, std::min(rows, begin + chunk_rows));
      return {};
    });
    for (std::size_t i = 0; i < texts.size() && done + i < chunks(rows); ++i) out << texts[i];
  }
}

}  // namespace

void write_table(TextOutput& out, const std::vector<Column>& columns, std::size_t rows, const RowSource& row_source,
                 const TableOptions& options) {
  TableWriter(columns, row_source, options).write(out, rows);
}

namespace {

std::size_t width_without_color(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::size_t escape_at = text.find('\033');
    columns += display_width(text.substr(0, escape_at));
    if (escape_at == std::string_view::npos) break;
    text.remove_prefix(std::min(text.size(), text.find('m', escape_at) + 1));
  }
  return columns;
}

}  // namespace

std::string fact_lines(std::string_view label, const std::vector<std::string>& facts, std::size_t width,
                       const Style& style) {
  std::string line = "  " + style(Paint::label, label);
  line.append(fact_label_columns - std::min(label.size(), fact_label_columns - 1), ' ');
  std::size_t column = 2 + fact_label_columns;
  bool is_first = true;
  for (const std::string& text : facts) {
    if (text.empty()) continue;
    const std::size_t columns = width_without_color(text);
    if (!is_first) {
      if (width > 0 && column + 3 + columns > width) {
        line += '\n';
        line.append(2 + fact_label_columns, ' ');
        column = 2 + fact_label_columns;
      } else {
        line += style(Paint::faint, " · ");
        column += 3;
      }
    }
    line += text;
    column += columns;
    is_first = false;
  }
  return is_first ? std::string() : line + "\n";
}

}  // namespace modelutils
