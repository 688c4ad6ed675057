#include <fmt/format.h>

#include <algorithm>

#include "base/checked_math.h"
#include "base/counted.h"
#include "base/escape.h"
#include "base/path.h"
#include "model/gguf_summary.h"
#include "report/gguf_selection.h"
#include "report/layer_names.h"
#include "report/numbers.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

constexpr std::size_t max_cell_columns = 120;

// Tensors of one block, or all that belong to none.
struct Group {
  std::string title;
  std::vector<SelectedTensor> tensors;
  std::optional<u64> elements = 0;
};

// Printable text as the inside of a cell or a heading: what Markdown or HTML would take for its own is escaped.
std::string markdown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '`' || c == '[') out += '\\';
    out += c;
  }
  return out;
}

std::string elements_text(std::optional<u64> elements) {
  return elements ? thousands(*elements) : "?";
}

std::vector<Group> groups_of(const std::vector<SelectedTensor>& tensors) {
  std::vector<Group> groups;
  LayerIndex layers;
  std::vector<std::size_t> group_of_layer;
  std::size_t outside = ~std::size_t{0};
  for (const SelectedTensor& selected : tensors) {
    const std::optional<LayerName> name = parse_layer_name(selected.tensor->name);
    std::size_t group = outside;
    if (name) {
      const std::size_t layer = layers.find_or_add(name->prefix, name->layer);
      if (layer == group_of_layer.size()) {
        group_of_layer.push_back(groups.size());
        groups.push_back({fmt::format("{}.{}", name->prefix, name->layer), {}, 0});
      }
      group = group_of_layer[layer];
    } else if (outside == ~std::size_t{0}) {
      group = outside = groups.size();
      groups.push_back({"Outside the blocks", {}, 0});
    }
    groups[group].tensors.push_back(selected);
    const std::optional<u64> elements = selected.tensor->elements();
    auto& sum = groups[group].elements;
    sum = sum && elements ? checked_add(*sum, *elements) : std::nullopt;
  }
  return groups;
}

class MarkdownDump {
 public:
  MarkdownDump(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options, TextOutput& out)
      : set_(set), path_(path), options_(options), out_(out) {}

  Status run() {
    const gguf::Document& first = set_.files.front().document;
    out_ << fmt::format("# {} - GGUF Internal File Dump\n\n", markdown(escape(base_name_of(path_))));
    out_ << fmt::format("- Endian: {} endian\n", first.big_endian ? "BIG" : "LITTLE");
    if (!pseudo_keys(first).empty()) out_ << fmt::format("- Version: {}\n", first.version);
    out_ << fmt::format("- Alignment: {} bytes\n", first.alignment);
    if (first.complete) out_ << fmt::format("- Data offset: {}\n", first.data_offset);
    MU_TRY(write_keys());
    if (options_.tensors) write_tensors();
    return {};
  }

 private:
  Status write_keys() {
    const gguf::Document& first = set_.files.front().document;
    const std::vector<SelectedKey> keys = select_keys(set_, options_);
    out_ << fmt::format("\n## Key Value Metadata Store\n\nThere are {} key-value pairs in this file\n\n",
                        first.kv_count);
    out_ << "| POS | TYPE | Count | Key | Value |\n|----:|:-----|------:|:----|:------|\n";
    u64 position = 0;
    for (const PseudoKey& pseudo : pseudo_keys(first)) {
      ++position;
      if (!selects(options_.key_globs, pseudo.name)) continue;
      out_ << fmt::format("| {} | {} | 1 | {} | {} |\n", position, gguf::value_type_name(pseudo.type), pseudo.name,
                          pseudo.value);
    }
    for (const SelectedKey& selected : keys) {
      const gguf::KeyValue& key = *selected.key;
      const auto* array = std::get_if<gguf::ArrayRef>(&key.value);
      const std::string type = array == nullptr ? std::string(gguf::value_type_name(key.type()))
                                                : fmt::format("[{}]", gguf::value_type_name(array->element_type));
      MU_ASSIGN(const std::string value, preview(set_.files.front(), key.value, max_cell_columns));
      out_ << fmt::format("| {} | {} | {} | {} | {} |\n", selected.index + 1, type, array == nullptr ? 1 : array->count,
                          markdown(escape(key.key)), markdown(value));
    }
    return {};
  }

  void write_tensors() {
    const std::vector<SelectedTensor> tensors = select_tensors(set_, options_);
    if (tensors.empty()) return;
    const std::vector<Group> groups = groups_of(tensors);
    std::optional<u64> total = 0;
    for (const Group& group : groups)
      total = total && group.elements ? checked_add(*total, *group.elements) : std::nullopt;
    out_ << fmt::format(
        "\n## Tensors Overview ~{} Elements\n\nTotal number of elements in all tensors: {} Elements\n\n",
        total ? count_text(*total) : "?", elements_text(total));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      out_ << fmt::format("- [{} - {} Elements](#group-{})\n", markdown(escape(groups[i].title)),
                          elements_text(groups[i].elements), i);
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Group& group = groups[i];
      out_ << fmt::format("\n### <a name=\"group-{}\">{}</a>\n\n", i, markdown(escape(group.title)));
      out_ << "| T_ID | Tensor Layer Name | Elements | Shape | Type | BPW | Data Offset (B) | Data Size (B) |\n";
      out_ << "|-----:|:------------------|---------:|:------|:-----|----:|----------------:|--------------:|\n";
      for (const SelectedTensor& selected : group.tensors) write_tensor(selected);
      out_ << fmt::format("\n- Total elements: {}\n", elements_text(group.elements));
      if (total && group.elements && *total > 0) {
        out_ << fmt::format("- Percentage of total elements: {:.2f}%\n",
                            100.0 * static_cast<double>(*group.elements) / static_cast<double>(*total));
      }
    }
  }

  void write_tensor(const SelectedTensor& selected) {
    const gguf::TensorInfo& tensor = *selected.tensor;
    const auto elements = tensor.elements();
    const auto bytes = tensor.bytes();
    const auto offset = data_offset_of(selected);
    std::string bits = "?";
    if (elements && bytes && *elements > 0) {
      bits = fmt::format("{:.4f}", 8.0 * static_cast<double>(*bytes) / static_cast<double>(*elements));
    }
    out_ << fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", selected.index, markdown(escape(tensor.name)),
                        elements_text(elements), shape_text(tensor.ne), gguf_type_text(tensor), bits,
                        offset ? std::to_string(*offset) : "?", bytes ? std::to_string(*bytes) : "?");
  }

  const gguf::SplitSet& set_;
  const std::string& path_;
  const GgufDumpOptions& options_;
  TextOutput& out_;
};

}  // namespace

Status dump_gguf_markdown(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options,
                          TextOutput& out) {
  return MarkdownDump(set, path, options, out).run();
}

}  // namespace modelutils
