#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/escape.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "report/key_text.h"
#include "report/layer_grid.h"
#include "report/listing_forms.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

constexpr std::size_t most_value_columns = 120;

// The tensors of one block, or all tensors outside blocks.
struct BlockOfTensors {
  std::string title;
  std::vector<const ListedTensor*> tensors;
  std::optional<u64> elements = 0;
};

// Formats printable text for the inside of a cell or a heading. Underscores within words have no meaning in Markdown,
// so names keep them.
std::string markdown(std::string_view text) {
  return markdown_text(text, "\\|`*[~");
}

std::string elements_text(std::optional<u64> elements) {
  return elements ? thousands(*elements) : "?";
}

std::string bits_per_weight(std::optional<u64> elements, std::optional<u64> bytes) {
  if (!elements || !bytes || *elements == 0) return "?";
  char digits[32];
  const double bits = 8.0 * static_cast<double>(*bytes) / static_cast<double>(*elements);
  return {digits, std::to_chars(std::begin(digits), std::end(digits), bits, std::chars_format::fixed, 4).ptr};
}

std::vector<BlockOfTensors> blocks_of(const std::vector<ListedTensor>& tensors) {
  std::vector<BlockOfTensors> groups;
  LayerIndex layers;
  std::vector<std::size_t> group_of_layer;
  std::size_t outside = ~std::size_t{0};
  for (const ListedTensor& tensor : tensors) {
    const std::optional<LayerName> name = parse_layer_name(tensor.name());
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
    groups[group].tensors.push_back(&tensor);
    const std::optional<u64> elements = tensor.parameters;
    auto& sum = groups[group].elements;
    sum = sum && elements ? checked_add(*sum, *elements) : std::nullopt;
  }
  return groups;
}

class MarkdownDump {
 public:
  MarkdownDump(const Listing& listing, TextOutput& out) : listing_(listing), out_(out) {}

  Status run() {
    const bool is_gguf = listing_.format == Listing::Format::gguf;
    out_ << fmt::format("# {} - {} Internal File Dump\n\n", markdown(escape(base_name_of(listing_.path))),
                        is_gguf ? "GGUF" : "Safetensors");
    if (is_gguf) {
      const ListedFile& first = listing_.files.front();
      out_ << fmt::format("- Endian: {} endian\n", listing_.big_endian ? "BIG" : "LITTLE");
      if (!listing_.header_fields.empty()) {
        out_ << fmt::format("- Version: {}\n", scalar_text(listing_.header_fields.front().value));
      }
      out_ << fmt::format("- Alignment: {} bytes\n", first.alignment);
      if (first.data_offset) out_ << fmt::format("- Data offset: {}\n", *first.data_offset);
    } else {
      out_ << fmt::format("- Kind: {}\n- Files: {}\n", markdown(escape(listing_.kind)), listing_.files.size());
    }
    MU_TRY(write_keys());
    if (listing_.has_tensors && listing_.is_packed()) write_modules();
    if (listing_.has_tensors) write_tensors();
    return {};
  }

 private:
  Status write_keys() {
    if (listing_.key_count == 0 && listing_.format != Listing::Format::gguf) return {};
    out_ << fmt::format("\n## Key Value Metadata Store\n\nThere are {} key-value pairs in this file\n\n",
                        listing_.key_count);
    out_ << "| POS | TYPE | Count | Key | Value |\n|----:|:-----|------:|:----|:------|\n";
    for (const ListedKey& field : listing_.header_fields) {
      if (!field.is_hidden) MU_TRY(write_key(field));
    }
    for (const ListedKey& key : listing_.keys) MU_TRY(write_key(key));
    return {};
  }

  Status write_key(const ListedKey& key) {
    const auto* listed = std::get_if<ListedArray>(&key.value);
    const std::string type = listed == nullptr ? std::string(gguf::value_type_name(key.type))
                                               : fmt::format("[{}]", gguf::value_type_name(listed->array.element_type));
    MU_ASSIGN(const std::string value, preview(key.value, most_value_columns));
    out_ << fmt::format("| {} | {} | {} | {} | {} |\n", key.index + 1, type,
                        listed == nullptr ? 1 : listed->array.count, markdown(escape(key.name)), markdown(value));
    return {};
  }

  void write_modules() {
    out_ << fmt::format("\n## Modules\n\nThere are {} modules\n\n", listing_.modules.size());
    out_ << "| Module | Elements | Shape | Mode | Bits | Group | BPW |\n";
    out_ << "|:-------|---------:|:------|:-----|-----:|------:|----:|\n";
    for (const ListedModule& module : listing_.modules) {
      const bool known = !module.mode.empty();
      out_ << fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", markdown(escape(module.path)),
                          elements_text(module.parameters), shape_text(module.shape),
                          known              ? std::string(module.mode)
                          : module.quantized ? std::string("?")
                                             : markdown(escape(module.type_name)),
                          known ? std::to_string(module.bits) : "",
                          module.group_size > 0 ? std::to_string(module.group_size) : "",
                          bits_per_weight(module.parameters, module.bytes));
    }
  }

  void write_tensors() {
    if (listing_.tensors.empty()) return;
    const std::vector<BlockOfTensors> groups = blocks_of(listing_.tensors);
    std::optional<u64> total = 0;
    for (const BlockOfTensors& group : groups)
      total = total && group.elements ? checked_add(*total, *group.elements) : std::nullopt;
    out_ << fmt::format(
        "\n## Tensors Overview ~{} Elements\n\nTotal number of elements in all tensors: {} Elements\n\n",
        total ? count_text(*total) : "?", elements_text(total));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      out_ << fmt::format("- [{} - {} Elements](#group-{})\n", markdown(escape(groups[i].title)),
                          elements_text(groups[i].elements), i);
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const BlockOfTensors& group = groups[i];
      out_ << fmt::format("\n### <a name=\"group-{}\">{}</a>\n\n", i, markdown(escape(group.title)));
      out_ << "| T_ID | Tensor Layer Name | Elements | Shape | Type | BPW | Data Offset (B) | Data Size (B) |\n";
      out_ << "|-----:|:------------------|---------:|:------|:-----|----:|----------------:|--------------:|\n";
      for (const ListedTensor* tensor : group.tensors) write_tensor(*tensor);
      out_ << fmt::format("\n- Total elements: {}\n", elements_text(group.elements));
      if (total && group.elements && *total > 0) {
        out_ << fmt::format("- Percentage of total elements: {:.2f}%\n",
                            100.0 * static_cast<double>(*group.elements) / static_cast<double>(*total));
      }
    }
  }

  void write_tensor(const ListedTensor& tensor) {
    const auto text = [](std::optional<u64> number) { return number ? std::to_string(*number) : std::string("?"); };
    line_ = '|';
    for (const std::string& cell :
         {std::to_string(tensor.index), markdown(escape(tensor.name())), elements_text(tensor.parameters),
          shape_text(tensor.shape()), markdown(escape(tensor.type_name)),
          bits_per_weight(tensor.parameters, tensor.bytes()), text(tensor.data_offset()), text(tensor.bytes())}) {
      line_.append(" ").append(cell).append(" |");
    }
    out_ << (line_ += '\n');
  }

  const Listing& listing_;
  TextOutput& out_;
  std::string line_;  // a member, so that its memory is reused
};

}  // namespace

Status write_listing_markdown(TextOutput& out, const Listing& listing, const ListingOptions&) {
  return MarkdownDump(listing, out).run();
}

}  // namespace modelutils
