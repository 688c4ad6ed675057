#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/counted.h"
#include "base/escape.h"
#include "base/utf8.h"
#include "model/gguf_summary.h"
#include "report/gguf_selection.h"
#include "report/layer_names.h"
#include "report/numbers.h"
#include "report/style.h"

namespace modelutils {

namespace {

// A grid is layers × roles, so roles are bounded: no known network has half as many.
constexpr std::size_t most_roles = 64;
constexpr std::size_t most_role_columns = 16;

// A stack of layers: all tensors whose names begin alike.
struct Stack {
  std::string_view prefix;
  std::vector<std::string_view> roles;  // in the order of their first tensor
  std::map<std::string_view, std::size_t> role_places;
  std::map<u32, std::map<std::size_t, const gguf::TensorInfo*>> layers;
};

struct Network {
  std::vector<Stack> stacks;
  std::vector<const gguf::TensorInfo*> others;
};

Network network_of(const std::vector<SelectedTensor>& tensors) {
  Network network;
  std::map<std::string_view, std::size_t> places;
  for (const SelectedTensor& selected : tensors) {
    const std::optional<LayerName> name = parse_layer_name(selected.tensor->name);
    if (!name) {
      network.others.push_back(selected.tensor);
      continue;
    }
    const auto [place, is_new] = places.try_emplace(name->prefix, network.stacks.size());
    if (is_new) network.stacks.push_back({name->prefix, {}, {}, {}});
    Stack& stack = network.stacks[place->second];
    auto role = stack.role_places.find(name->role);
    if (role == stack.role_places.end()) {
      if (stack.roles.size() == most_roles) {
        network.others.push_back(selected.tensor);
        continue;
      }
      role = stack.role_places.emplace(name->role, stack.roles.size()).first;
      stack.roles.push_back(name->role);
    }
    stack.layers[name->layer].emplace(role->second, selected.tensor);
  }
  return network;
}

// A column's heading, one piece a line: "ffn_gate_exps.weight" -> ffn, gate, exps.
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

class LayersDump {
 public:
  LayersDump(const GgufDumpOptions& options, TextOutput& out) : options_(options), out_(out), style_(options.color) {}

  void run(const Network& network) {
    for (const Stack& stack : network.stacks) {
      out_ << style_(Paint::title, escape(stack.prefix, 60)) << " "
           << style_(Paint::faint,
                     fmt::format("{} layer{}", thousands(stack.layers.size()), stack.layers.size() == 1 ? "" : "s"))
           << "\n";
      write_stack(stack);
      out_ << "\n";
    }
    if (!network.others.empty()) write_others(network);
  }

 private:
  void write_stack(const Stack& stack) {
    std::vector<std::vector<std::string>> titles;
    std::vector<std::size_t> widths;
    for (const std::string_view role : stack.roles) {
      titles.push_back(role_lines(role));
      std::size_t width = 1;
      for (const std::string& line : titles.back()) width = std::max(width, display_width(line));
      widths.push_back(width);
    }
    for (const auto& [layer, cells] : stack.layers) {
      for (const auto& [role, tensor] : cells) widths[role] = std::max(widths[role], gguf_type_text(*tensor).size());
    }
    const std::size_t label = stack.layers.empty() ? 1 : std::to_string(stack.layers.rbegin()->first).size();
    // Too many columns for the terminal: one band of them below the other.
    for (std::size_t begin = 0; begin < stack.roles.size();) {
      std::size_t end = begin;
      std::size_t used = 2 + label;
      while (end < stack.roles.size() &&
             (end == begin || options_.width == 0 || used + 1 + widths[end] <= options_.width)) {
        used += 1 + widths[end++];
      }
      if (begin > 0) out_ << "\n";
      write_titles(titles, widths, begin, end, label);
      write_rows(stack, widths, begin, end, label);
      begin = end;
    }
  }

  void pad(std::string& line, std::size_t columns) const { line.append(columns, ' '); }

  void write_titles(const std::vector<std::vector<std::string>>& titles, const std::vector<std::size_t>& widths,
                    std::size_t begin, std::size_t end, std::size_t label) {
    std::size_t lines = 0;
    for (std::size_t i = begin; i < end; ++i) lines = std::max(lines, titles[i].size());
    for (std::size_t row = 0; row < lines; ++row) {
      std::string line(2 + label, ' ');
      for (std::size_t i = begin; i < end; ++i) {
        // The pieces of a name stand on the last lines, next to the grid.
        const std::size_t above = lines - titles[i].size();
        const std::string text = row < above ? std::string{} : titles[i][row - above];
        line += ' ' + style_(Paint::label, text);
        pad(line, widths[i] - display_width(text));
      }
      finish(line);
    }
  }

  void write_rows(const Stack& stack, const std::vector<std::size_t>& widths, std::size_t begin, std::size_t end,
                  std::size_t label) {
    for (const auto& [layer, cells] : stack.layers) {
      if (out_.closed()) return;
      const std::string number = std::to_string(layer);
      std::string line = "  ";
      pad(line, label - number.size());
      line += style_(Paint::faint, number);
      for (std::size_t i = begin; i < end; ++i) {
        const auto cell = cells.find(i);
        std::string text = "·";
        Paint paint = Paint::faint;
        if (cell != cells.end()) {
          text = gguf_type_text(*cell->second);
          paint = type_paint(cell->second->type());
        }
        line += ' ' + style_(paint, text);
        pad(line, widths[i] - display_width(text));
      }
      finish(line);
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
    for (const gguf::TensorInfo* tensor : network.others) {
      width = std::max(width, display_width(escape(tensor->name, 60)));
    }
    for (const gguf::TensorInfo* tensor : network.others) {
      if (out_.closed()) return;
      const std::string name = escape(tensor->name, 60);
      std::string line = "  " + name;
      pad(line, width - display_width(name) + 2);
      line += style_(type_paint(tensor->type()), gguf_type_text(*tensor));
      finish(line);
    }
  }

  const GgufDumpOptions& options_;
  TextOutput& out_;
  Style style_;
};

}  // namespace

Status dump_gguf_layers(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options,
                        TextOutput& out) {
  if (options.several) out << Style(options.color)(Paint::title, escape(path)) << "\n";
  LayersDump(options, out).run(network_of(select_tensors(set, options)));
  return {};
}

}  // namespace modelutils
