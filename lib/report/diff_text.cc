#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/escape.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/diff_parts.h"
#include "report/key_text.h"
#include "report/layer_grid.h"
#include "report/model_diff.h"
#include "report/table.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

class DiffText {
 public:
  DiffText(TextOutput& out, const ModelDiff& diff, const DiffOptions& options)
      : out_(out), diff_(diff), options_(options), style_(options.style) {}

  Status write() {
    write_identity();
    MU_TRY(write_keys("keys", diff_.keys));
    MU_TRY(write_keys("tokenizer", diff_.tokenizer));
    write_tensors();
    write_types();
    write_values();
    write_layout();
    write_remarks();
    return {};
  }

 private:
  void heading(std::string_view name, std::string_view what) {
    out_ << style_(Paint::title, name) << ":";
    write_wrapped(what, name.size() + 1, 2);
  }

  // Writes the rest of a line, broken at the terminal's width; lines after the first are indented.
  void write_wrapped(std::string_view text, std::size_t column, std::size_t indent) {
    std::string lines;
    if (options_.width == 0) {
      lines.append(" ").append(text).append("\n");
    } else {
      append_wrapped(lines, text, column, indent, options_.width);
    }
    out_ << lines;
  }

  void line(char sign, std::string_view name, std::string_view text) {
    constexpr std::size_t before = 4, indent = 6;
    const Paint paint = sign == '+' ? Paint::added : sign == '-' ? Paint::removed : Paint::label;
    const bool is_cut = options_.width > before && display_width(name) > options_.width - before;
    const std::string shown = is_cut ? cut_middle(name, options_.width - before) : std::string(name);
    out_ << "  " << style_(paint, std::string(1, sign) + " " + shown) << " ";
    write_wrapped(text, before + display_width(shown) + 1, indent);
  }

  void write_identity() {
    if (diff_.identity.empty()) return;
    out_ << style_(Paint::title, "identity") << "\n";
    std::size_t width = 0;
    for (const FactChange& fact : diff_.identity) width = std::max(width, fact.name.size());
    for (const FactChange& fact : diff_.identity) {
      out_ << fmt::format("  {:<{}} ", fact.name, width);
      write_wrapped(escape(fact.a) + " → " + escape(fact.b), width + 3, std::min<std::size_t>(6, width + 2));
    }
  }

  // Writes a change of a text with several lines as `diff -u` does, with two unchanged lines around each change.
  void write_lines(const KeyChange& change) {
    constexpr std::size_t around = 2, most_lines = 400;
    const std::vector<DiffLine> lines =
        diff_lines(std::get<std::string_view>(change.a->value), std::get<std::string_view>(change.b->value));
    std::vector<bool> is_shown(lines.size());
    u64 removed = 0, added = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].kind == WordRun::Kind::same) continue;
      ++(lines[i].kind == WordRun::Kind::removed ? removed : added);
      for (std::size_t j = i - std::min(i, around); j < lines.size() && j <= i + around; ++j) is_shown[j] = true;
    }
    line('~', escape(change.a->name), fmt::format("{} removed, {} added", counted(removed, "line"), thousands(added)));
    std::size_t written = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!is_shown[i]) continue;
      if (++written > most_lines) {
        out_ << "      … more\n";
        return;
      }
      if (i == 0 || !is_shown[i - 1]) {
        out_ << "      " << style_(Paint::label, fmt::format("@@ -{} +{} @@", lines[i].line_a, lines[i].line_b))
             << "\n";
      }
      write_line(lines[i]);
    }
  }

  struct DiffLine {
    WordRun::Kind kind;
    std::string_view text;       ///< with its line feed
    u64 line_a = 0, line_b = 0;  ///< numbers, from 1, of this line or of the next one
  };

  static std::vector<DiffLine> diff_lines(std::string_view a, std::string_view b) {
    std::vector<DiffLine> lines;
    u64 line_a = 1, line_b = 1;
    for (const WordRun& run : line_diff(a, b)) {
      for (std::string_view text = run.text; !text.empty();) {
        const std::size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
        lines.push_back({run.kind, text.substr(0, size), line_a, line_b});
        line_a += run.kind == WordRun::Kind::added ? 0 : 1;
        line_b += run.kind == WordRun::Kind::removed ? 0 : 1;
        text.remove_prefix(size);
      }
    }
    return lines;
  }

  void write_line(const DiffLine& line) {
    const bool has_feed = line.text.ends_with('\n');
    const std::string text = escape(line.text.substr(0, line.text.size() - (has_feed ? 1 : 0)));
    const char sign = line.kind == WordRun::Kind::same ? ' ' : line.kind == WordRun::Kind::removed ? '-' : '+';
    const Paint paint = sign == '-' ? Paint::removed : sign == '+' ? Paint::added : Paint::plain;
    std::string shown = std::string(1, sign) + " " + text;
    if (options_.width > 0) {
      std::string wrapped;
      append_wrapped(wrapped, shown, 6, 8, options_.width);
      wrapped.pop_back();
      shown = std::move(wrapped);
    }
    shown.resize(shown.find_last_not_of(' ') + 1);
    out_ << "      " << style_(paint, shown) << "\n";
    if (!has_feed && sign != ' ') out_ << "      \\ no line feed at the end\n";
  }

  Status write_keys(std::string_view section, const KeyChanges& keys) {
    if (keys.size() == 0) return {};
    std::string what;
    const auto count = [&](std::size_t number, std::string_view verb) {
      if (number > 0) what += fmt::format("{}{} {}", what.empty() ? "" : ", ", number, verb);
    };
    count(keys.added.size(), "added");
    count(keys.removed.size(), "removed");
    count(keys.changed.size(), "changed");
    heading(section, what);
    for (const KeyChange& change : keys.changed) {
      if (is_of_lines(change)) {
        write_lines(change);
        continue;
      }
      MU_ASSIGN(std::string text, key_change_text(change, style_));
      MU_ASSIGN(const std::string a, named_token_text(diff_.a, *change.a));
      MU_ASSIGN(const std::string b, named_token_text(diff_.b, *change.b));
      if (const std::size_t arrow = text.find(" → "); arrow != std::string::npos && !(a + b).empty()) {
        text.insert(arrow, a);
        text += b;
      }
      line('~', escape(change.a->name), text);
    }
    for (const ListedKey* key : keys.removed) {
      MU_ASSIGN(const std::string text, key_value_text(*key));
      MU_ASSIGN(const std::string token, named_token_text(diff_.a, *key));
      line('-', escape(key->name), text + token);
    }
    for (const ListedKey* key : keys.added) {
      MU_ASSIGN(const std::string text, key_value_text(*key));
      MU_ASSIGN(const std::string token, named_token_text(diff_.b, *key));
      line('+', escape(key->name), text + token);
    }
    return {};
  }

  void write_tensors() {
    const TensorChanges& tensors = diff_.tensors;
    if (tensors.added.size() + tensors.removed.size() + tensors.reshaped.size() == 0) return;
    std::string what;
    const auto count = [&](std::size_t number, std::string_view verb) {
      if (number > 0) what += fmt::format("{}{} {}", what.empty() ? "" : ", ", thousands(number), verb);
    };
    count(tensors.added.size(), "added");
    count(tensors.removed.size(), "removed");
    count(tensors.reshaped.size(), "reshaped");
    heading("tensors", what);
    TensorGroups reshaped, removed, added;
    for (const TensorPair& pair : tensors.reshaped) {
      std::string text = fmt::format("{} → {}", shape_text(pair.a->ne), shape_text(pair.b->ne));
      if (pair.is_retyped) text = fmt::format("{} → {}", tensor_text(diff_.a, *pair.a), tensor_text(diff_.b, *pair.b));
      reshaped.add(pair.a->name, std::move(text));
    }
    for (const Tensor* tensor : tensors.removed) removed.add(tensor->name, tensor_text(diff_.a, *tensor));
    for (const Tensor* tensor : tensors.added) added.add(tensor->name, tensor_text(diff_.b, *tensor));
    for (const TensorGroup& group : reshaped.groups()) line('~', group.name, group.text);
    for (const TensorGroup& group : removed.groups()) line('-', group.name, group.text);
    for (const TensorGroup& group : added.groups()) line('+', group.name, group.text);
  }

  // Writes a grid of the roles in which anything changed.
  void write_types() {
    const TensorChanges& tensors = diff_.tensors;
    if (tensors.retyped == 0) return;
    heading(
        "types",
        fmt::format("{} of {} {}{}", thousands(tensors.retyped), counted(tensors.same_shape.size(), "tensor"),
                    verb(tensors.retyped, "differs", "differ"), diff_.types_count() ? "" : ", ignored with --max-rms"));
    std::set<std::pair<std::string_view, std::string_view>> roles;
    const auto role_of = [](const TensorPair& pair) {
      const std::optional<LayerName> name = parse_layer_name(pair.a->name);
      return name ? std::pair(name->prefix, name->role) : std::pair(std::string_view(), std::string_view(pair.a->name));
    };
    for (const TensorPair& pair : tensors.same_shape) {
      if (pair.is_retyped) roles.insert(role_of(pair));
    }
    std::vector<GridTensor> cells;
    for (const TensorPair& pair : tensors.same_shape) {
      if (!roles.contains(role_of(pair))) continue;
      const std::string type = escape(diff_.a.tensors->type_text(*pair.a));
      if (pair.is_retyped) {
        const StoredForm form = diff_.b.tensors->form(*pair.b);
        cells.push_back({pair.a->name, type + "→" + escape(diff_.b.tensors->type_text(*pair.b)),
                         bits_paint(form_info(form).bits(form))});
      } else {
        cells.push_back({pair.a->name, type, Paint::faint});
      }
    }
    write_layer_grid(out_, cells, {options_.width, style_});
  }

  void write_values() {
    const std::vector<TensorChange> worst = worst_first(diff_);
    if (worst.empty()) return;
    u64 within = 0;
    for (const TensorChange& change : worst) within += diff_.is_within(*change.measured) ? 1 : 0;
    std::string what = fmt::format("{} of {} {}", thousands(worst.size()), counted(diff_.measured.size(), "tensor"),
                                   verb(worst.size(), "differs", "differ"));
    if (diff_.max_rms) what += fmt::format(", {} of them by no more than {:g} %", within, 100 * *diff_.max_rms);
    heading("values", what);
    const std::size_t shown = static_cast<std::size_t>(std::min<u64>(options_.top, worst.size()));
    for (std::size_t i = 0; i < shown; ++i) {
      line('~', escape(worst[i].pair.a->name, 80), measurement_text(*worst[i].measured));
    }
    if (worst.size() <= shown) return;
    out_ << "  " << style_(Paint::faint, fmt::format("… and {} more; --top N lists N", worst.size() - shown)) << "\n";
    write_roles();
    write_layers();
  }

  void write_roles() {
    const std::vector<ValueTotal> roles = totals_by_role(diff_);
    const std::vector<Column> columns = {{"role"},
                                         {"tensors", Align::right},
                                         {"equal", Align::right},
                                         {"RMS", Align::right},
                                         {"largest", Align::right},
                                         {"cosine", Align::right}};
    constexpr std::size_t most_roles = 30;
    write_table(out_, columns, std::min(roles.size(), most_roles),
                [&](std::size_t row, std::vector<Cell>& cells) {
                  const ValueTotal& role = roles[row];
                  cells = {{escape(role.name, 40)},
                           {thousands(role.tensors)},
                           {thousands(role.equal)},
                           {error_percent(role.sums.rms())},
                           {fmt::format("{:.3g}", role.sums.max_abs)},
                           {fmt::format("{:.6f}", role.sums.cosine())}};
                },
                {options_.width, 2, true, style_});
    if (roles.size() > most_roles) {
      out_ << "  " << style_(Paint::faint, fmt::format("… and {} more roles", roles.size() - most_roles)) << "\n";
    }
  }

  // Writes all layers on as few lines as possible. Neighbours with the same error form a range, and the prefix is
  // written only when it changes.
  void write_layers() {
    const std::size_t width = options_.width == 0 ? 120 : std::max<std::size_t>(options_.width, 40);
    const std::vector<ValueTotal> layers = totals_by_layer(diff_);
    const auto error_of = [](const ValueTotal& layer) {
      return layer.equal == layer.tensors ? std::string("=") : error_percent(layer.sums.rms());
    };
    const auto prefix_of = [](const ValueTotal& layer) { return layer.name.substr(0, layer.name.rfind('.') + 1); };
    std::string line = "  by layer:", known_prefix;
    for (std::size_t i = 0; i < layers.size();) {
      const std::string error = error_of(layers[i]), prefix = prefix_of(layers[i]);
      std::size_t end = i + 1;
      while (end < layers.size() && error_of(layers[end]) == error && prefix_of(layers[end]) == prefix) ++end;
      std::string piece =
          " " + escape(prefix == known_prefix ? layers[i].name.substr(prefix.size()) : layers[i].name, 30);
      if (end - i > 1) piece += "–" + escape(layers[end - 1].name.substr(prefix.size()), 30);
      piece += " " + error;
      known_prefix = prefix;
      i = end;
      if (display_width(line) + display_width(piece) + 1 > width) {
        out_ << line << "\n";
        line = "   ";
      }
      line += piece + ";";
    }
    if (line.ends_with(';')) line.pop_back();
    if (display_width(line) > 12) out_ << line << "\n";
  }

  void write_layout() {
    if (diff_.layout.empty()) return;
    heading("layout", counted(diff_.layout.size(), "difference"));
    for (const LayoutChange& change : diff_.layout) {
      line('~', escape(change.name, 80),
           change.a.empty() && change.b.empty() ? "differs" : escape(change.a) + " → " + escape(change.b));
    }
  }

  void write_remarks() {
    if (diff_.is_silent()) return;
    for (const std::string& remark : diff_.remarks) {
      out_ << style_(Paint::faint, "note:");
      write_wrapped(style_(Paint::faint, escape(remark)), 5, 2);
    }
  }

  TextOutput& out_;
  const ModelDiff& diff_;
  const DiffOptions& options_;
  const Style& style_;
};

}  // namespace

Status write_diff_text(TextOutput& out, const ModelDiff& diff, const DiffOptions& options) {
  return DiffText(out, diff, options).write();
}

void write_diff_brief(TextOutput& out, const ModelDiff& diff) {
  if (diff.equal()) return;
  std::string what;
  for (const std::string& phrase : difference_phrases(diff)) what += (what.empty() ? "" : ", ") + phrase;
  out << fmt::format("{} and {} differ: {}\n", escape(diff.a.path), escape(diff.b.path), what);
}

namespace {

class DiffMarkdown {
 public:
  DiffMarkdown(TextOutput& out, const ModelDiff& diff, const DiffOptions& options)
      : out_(out), diff_(diff), options_(options) {}

  Status write() {
    if (diff_.is_silent()) return {};
    out_ << fmt::format("# {} and {}\n", cell(diff_.a.path), cell(diff_.b.path));
    write_identity();
    MU_TRY(write_keys("Keys", diff_.keys));
    MU_TRY(write_keys("Tokenizer", diff_.tokenizer));
    write_tensors();
    write_values();
    write_layout();
    for (const std::string& remark : diff_.remarks) out_ << "\n" << cell(remark) << "\n";
    return {};
  }

 private:
  // Formats raw text for the inside of a cell or a heading.
  static std::string cell(std::string_view text) { return markdown(escape(text)); }

  static std::string markdown(std::string_view printable) { return markdown_text(printable, "\\|`*_[~"); }

  void table(std::string_view title, std::string_view head) {
    out_ << fmt::format("\n## {}\n\n{}\n", title, head);
    std::string line = "|";
    for (const char c : head.substr(1)) {
      if (c == '|') line += ":---|";
    }
    out_ << line << "\n";
  }

  void row(std::string_view change, std::string_view name, std::string_view text) {
    out_ << fmt::format("| {} | {} | {} |\n", change, markdown(name), markdown(text));
  }

  void write_identity() {
    if (diff_.identity.empty()) return;
    table("Identity", "| | A | B |");
    for (const FactChange& fact : diff_.identity) {
      out_ << fmt::format("| {} | {} | {} |\n", fact.name, cell(fact.a), cell(fact.b));
    }
  }

  Status write_keys(std::string_view title, const KeyChanges& keys) {
    if (keys.size() == 0) return {};
    table(title, "| | Key | Value |");
    for (const KeyChange& change : keys.changed) {
      MU_ASSIGN(const std::string text, key_change_text(change, Style(false)));
      row("changed", escape(change.a->name), text);
    }
    for (const ListedKey* key : keys.removed) {
      MU_ASSIGN(const std::string text, key_value_text(*key));
      row("removed", escape(key->name), text);
    }
    for (const ListedKey* key : keys.added) {
      MU_ASSIGN(const std::string text, key_value_text(*key));
      row("added", escape(key->name), text);
    }
    return {};
  }

  void rows(std::string_view change, const TensorGroups& groups) {
    for (const TensorGroup& group : groups.groups()) row(change, group.name, group.text);
  }

  void write_tensors() {
    const TensorChanges& tensors = diff_.tensors;
    if (tensors.added.size() + tensors.removed.size() + tensors.reshaped.size() + tensors.retyped == 0) return;
    table("Tensors", "| | Tensor | Type and shape |");
    TensorGroups reshaped, retyped, removed, added;
    for (const TensorPair& pair : tensors.reshaped) {
      reshaped.add(pair.a->name, tensor_text(diff_.a, *pair.a) + " → " + tensor_text(diff_.b, *pair.b));
    }
    for (const TensorPair& pair : tensors.same_shape) {
      if (pair.is_retyped) {
        retyped.add(pair.a->name,
                    escape(diff_.a.tensors->type_text(*pair.a)) + " → " + escape(diff_.b.tensors->type_text(*pair.b)));
      }
    }
    for (const Tensor* tensor : tensors.removed) removed.add(tensor->name, tensor_text(diff_.a, *tensor));
    for (const Tensor* tensor : tensors.added) added.add(tensor->name, tensor_text(diff_.b, *tensor));
    rows("reshaped", reshaped);
    rows("retyped", retyped);
    rows("removed", removed);
    rows("added", added);
  }

  void write_values() {
    const std::vector<TensorChange> worst = worst_first(diff_);
    if (worst.empty()) return;
    table("Values", "| | Tensor | Difference |");
    for (std::size_t i = 0; i < worst.size() && i < options_.top; ++i) {
      const Measurement& measured = *worst[i].measured;
      row(diff_.is_within(measured) ? "tolerated" : "changed", escape(worst[i].pair.a->name),
          measurement_text(measured));
    }
    if (worst.size() > options_.top) {
      out_ << fmt::format("\n{} differ in all.\n", counted(worst.size(), "tensor"));
    }
  }

  void write_layout() {
    if (diff_.layout.empty()) return;
    table("Layout", "| | A | B |");
    for (const LayoutChange& change : diff_.layout) {
      const bool is_order = change.a.empty() && change.b.empty();
      out_ << fmt::format("| {} | {} | {} |\n", cell(change.name), is_order ? "differs" : cell(change.a),
                          is_order ? "differs" : cell(change.b));
    }
  }

  TextOutput& out_;
  const ModelDiff& diff_;
  const DiffOptions& options_;
};

}  // namespace

Status write_diff_markdown(TextOutput& out, const ModelDiff& diff, const DiffOptions& options) {
  return DiffMarkdown(out, diff, options).write();
}

}  // namespace modelutils
