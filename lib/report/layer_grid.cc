#include "report/layer_grid.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/escape.h"
#include "base/text.h"
#include "base/utf8.h"

namespace modelutils {

std::optional<LayerName> parse_layer_name(std::string_view name) {
  std::size_t begin = name.find('.');
  while (begin != std::string_view::npos) {
    ++begin;
    const std::size_t end = name.find('.', begin);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view digits = name.substr(begin, end - begin);
    constexpr std::size_t most_digits = 9;  // always fits in a u32
    if (!digits.empty() && digits.size() <= most_digits && digits.find_first_not_of("0123456789") == digits.npos &&
        begin > 1 && end + 1 < name.size()) {
      u32 layer = 0;
      for (const char c : digits) layer = layer * 10 + static_cast<u32>(c - '0');
      return LayerName{name.substr(0, begin - 1), layer, name.substr(end + 1)};
    }
    begin = end;
  }
  return std::nullopt;
}

std::size_t LayerIndex::find_or_add(std::string_view prefix, u32 layer) {
  return numbers_.try_emplace({std::string(prefix), layer}, numbers_.size()).first->second;
}

namespace {

// A grid has layers × roles cells, so the number of roles is bounded. No known network has half as many.
constexpr std::size_t most_roles = 64;
constexpr std::size_t most_role_columns = 16;
// Longer lists of layers continue on the next line.
constexpr std::size_t label_columns = 16;

// The content of a cell. Cells are equal if they look the same, and so are layers.
struct Form {
  std::string_view text;
  Paint paint = Paint::plain;
};

// A stack of layers: all tensors whose names have the same prefix.
struct Stack {
  std::string_view prefix;
  std::vector<std::string_view> roles;  // in the order of their first tensors
  std::map<std::string_view, std::size_t> role_places;
  std::map<u32, std::map<std::size_t, Form>> layers;
};

struct Network {
  std::vector<Stack> stacks;
  std::vector<const GridTensor*> others;
};

// Groups layers that look the same. The groups are in the order of their first layers.
struct LayerKind {
  const std::map<std::size_t, Form>* cells = nullptr;
  std::vector<u32> layers;
};

Form form_of(const GridTensor& tensor) {
  return {tensor.text, tensor.paint};
}

Network network_of(std::span<const GridTensor> tensors) {
  Network network;
  std::map<std::string_view, std::size_t> places;
  for (const GridTensor& tensor : tensors) {
    const std::optional<LayerName> name = parse_layer_name(tensor.name);
    if (!name) {
      network.others.push_back(&tensor);
      continue;
    }
    const auto [place, is_new] = places.try_emplace(name->prefix, network.stacks.size());
    if (is_new) network.stacks.push_back({name->prefix, {}, {}, {}});
    Stack& stack = network.stacks[place->second];
    auto role = stack.role_places.find(name->role);
    if (role == stack.role_places.end()) {
      if (stack.roles.size() == most_roles) {
        network.others.push_back(&tensor);
        continue;
      }
      role = stack.role_places.emplace(name->role, stack.roles.size()).first;
      stack.roles.push_back(name->role);
    }
    stack.layers[name->layer].emplace(role->second, form_of(tensor));
  }
  return network;
}

std::vector<LayerKind> kinds_of(const Stack& stack) {
  std::vector<LayerKind> kinds;
  std::map<std::string, std::size_t> places;  // by everything visible in a layer
  for (const auto& [layer, cells] : stack.layers) {
    std::string look;
    for (const auto& [role, form] : cells) {
      append_number(look, role);
      look += '=';
      look += form.text;
      look += ';';
    }
    const auto [place, is_new] = places.try_emplace(std::move(look), kinds.size());
    if (is_new) kinds.push_back({&cells, {}});
    kinds[place->second].layers.push_back(layer);
  }
  return kinds;
}

// Splits "0–3, 6, 9–12," into lines of at most `label_columns`.
std::vector<std::string> label_lines(const std::vector<u32>& layers) {
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    std::string piece = std::to_string(layers[i]);
    if (end - i > 1) piece += fmt::format("–{}", layers[end - 1]);
    if (end < layers.size()) piece += ',';
    if (!lines.back().empty() && display_width(lines.back()) + 1 + display_width(piece) > label_columns) {
      lines.emplace_back();
    }
    lines.back() += (lines.back().empty() ? "" : " ") + piece;
    i = end;
  }
  return lines;
}

// Splits a column's heading into one piece per line: "ffn_gate_exps.weight" -> ffn, gate, exps.
std::vector<std::string> role_lines(std::string_view role) {
  constexpr std::string_view common = ".weight";
  if (role.ends_with(common) && role.size() > common.size()) role.remove_suffix(common.size());
  std::vector<std::string> lines;
  constexpr std::size_t most_lines = 6;
  while (!role.empty() && lines.size() < most_lines) {
    const std::size_t end = lines.size() + 1 == most_lines ? role.npos : role.find_first_of("_.", 1);
    std::string_view piece = role.substr(0, end);
    role.remove_prefix(piece.size());
    while (piece.size() > 1 && (piece.front() == '_' || piece.front() == '.')) piece.remove_prefix(1);
    lines.push_back(escape(piece, most_role_columns));
  }
  return lines;
}

class GridWriter {
 public:
  GridWriter(const GridOptions& options, TextOutput& out) : options_(options), out_(out), style_(options.style) {}

  void run(const Network& network) {
    for (const Stack& stack : network.stacks) {
      const std::vector<LayerKind> kinds = kinds_of(stack);
      std::string size = thousands(stack.layers.size()) + (stack.layers.size() == 1 ? " layer" : " layers");
      if (kinds.size() < stack.layers.size()) {
        size += kinds.size() == 1 ? std::string(", all alike") : ", " + counted(kinds.size(), "kind");
      }
      out_ << style_(Paint::title, escape(stack.prefix, 60)) << " " << style_(Paint::faint, size) << "\n";
      write_stack(stack, kinds);
      out_ << "\n";
    }
    if (!network.others.empty()) write_others(network);
  }

 private:
  void write_stack(const Stack& stack, const std::vector<LayerKind>& kinds) {
    std::vector<std::vector<std::string>> titles;
    std::vector<std::size_t> widths;
    for (const std::string_view role : stack.roles) {
      titles.push_back(role_lines(role));
      std::size_t width = 1;
      for (const std::string& line : titles.back()) width = std::max(width, display_width(line));
      widths.push_back(width);
    }
    label_ = 1;
    count_ = 0;
    for (const LayerKind& kind : kinds) {
      for (const std::string& line : label_lines(kind.layers)) label_ = std::max(label_, display_width(line));
      count_ = std::max(count_, count_text_of(kind).size());
      for (const auto& [role, form] : *kind.cells) widths[role] = std::max(widths[role], display_width(form.text));
    }
    if (count_ > 0) ++count_;  // room for the separating blank
    // If the columns exceed the terminal's width, writes several bands of them, one below the other.
    for (std::size_t begin = 0; begin < stack.roles.size();) {
      std::size_t end = begin;
      std::size_t used = 2 + label_ + count_;
      while (end < stack.roles.size() &&
             (end == begin || options_.width == 0 || used + 1 + widths[end] <= options_.width)) {
        used += 1 + widths[end++];
      }
      if (begin > 0) out_ << "\n";
      write_titles(titles, widths, begin, end);
      write_rows(kinds, widths, begin, end);
      begin = end;
    }
  }

  static std::string count_text_of(const LayerKind& kind) {
    return kind.layers.size() > 1 ? fmt::format("x{}", kind.layers.size()) : std::string{};
  }

  void pad(std::string& line, std::size_t columns) const { line.append(columns, ' '); }

  void write_titles(const std::vector<std::vector<std::string>>& titles, const std::vector<std::size_t>& widths,
                    std::size_t begin, std::size_t end) {
    std::size_t lines = 0;
    for (std::size_t i = begin; i < end; ++i) lines = std::max(lines, titles[i].size());
    for (std::size_t row = 0; row < lines; ++row) {
      std::string line(2 + label_ + count_, ' ');
      for (std::size_t i = begin; i < end; ++i) {
        // Aligns the pieces of a name with the bottom, next to the grid.
        const std::size_t above = lines - titles[i].size();
        const std::string text = row < above ? std::string{} : titles[i][row - above];
        line += ' ' + style_(Paint::label, text);
        pad(line, widths[i] - display_width(text));
      }
      finish(line);
    }
  }

  void write_rows(const std::vector<LayerKind>& kinds, const std::vector<std::size_t>& widths, std::size_t begin,
                  std::size_t end) {
    for (const LayerKind& kind : kinds) {
      if (out_.closed()) return;
      const std::vector<std::string> label = label_lines(kind.layers);
      const std::string count = count_text_of(kind);
      std::string line = "  " + style_(Paint::faint, label.front());
      pad(line, label_ - display_width(label.front()) + count_ - count.size());
      line += style_(Paint::faint, count);
      for (std::size_t i = begin; i < end; ++i) {
        const auto cell = kind.cells->find(i);
        const Form form = cell != kind.cells->end() ? cell->second : Form{"·", Paint::faint};
        line += ' ' + style_(form.paint, form.text);
        pad(line, widths[i] - display_width(form.text));
      }
      finish(line);
      for (std::size_t i = 1; i < label.size(); ++i) out_ << "  " << style_(Paint::faint, label[i]) << "\n";
    }
  }

  void finish(std::string& line) {
    while (line.ends_with(' ')) line.pop_back();
    line += '\n';
    out_ << line;
  }

  void write_others(const Network& network) {
    out_ << style_(Paint::title, network.stacks.empty() ? "tensors" : "elsewhere") << " "
         << style_(Paint::faint, thousands(network.others.size())) << "\n";
    std::size_t width = 1;
    for (const GridTensor* tensor : network.others) width = std::max(width, display_width(escape(tensor->name, 60)));
    for (const GridTensor* tensor : network.others) {
      if (out_.closed()) return;
      const std::string name = escape(tensor->name, 60);
      const Form form = form_of(*tensor);
      std::string line = "  " + name;
      pad(line, width - display_width(name) + 2);
      line += style_(form.paint, form.text);
      finish(line);
    }
  }

  const GridOptions& options_;
  TextOutput& out_;
  const Style& style_;
  std::size_t label_ = 1;  // width of the layer numbers
  std::size_t count_ = 0;  // width of the layer counts
};

}  // namespace

void write_layer_grid(TextOutput& out, std::span<const GridTensor> tensors, const GridOptions& options) {
  GridWriter(options, out).run(network_of(tensors));
}

}  // namespace modelutils
