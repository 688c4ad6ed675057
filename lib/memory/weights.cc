#include "memory/weights.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "memory/fact_values.h"

namespace modelutils::memory {

namespace {

constexpr u64 gpu_alignment = 128;
constexpr u64 host_alignment = 32;
constexpr u64 gpu_row = 512;  // CUDA pads quantised rows to a multiple of this many elements

// Returns N of "blk.N.…", or nullopt.
std::optional<u64> block_of(std::string_view name) {
  constexpr std::string_view prefix = "blk.";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  u64 block = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), block);
  const bool is_number = error == std::errc() && end != name.data() && end != name.data() + name.size() && *end == '.';
  return is_number ? std::optional<u64>(block) : std::nullopt;
}

std::string_view base_of(std::string_view name) {
  return name.substr(0, name.find('.'));
}

bool is_input(std::string_view base) {
  static constexpr std::array names = {std::string_view("token_embd"), std::string_view("token_types"),
                                       std::string_view("position_embd"), std::string_view("per_layer_token_embd")};
  return std::ranges::find(names, base) != names.end();
}

// Tensors without a block that are placed with the first block.
bool is_of_first_block(std::string_view base) {
  static constexpr std::array names = {std::string_view("token_embd_norm"), std::string_view("per_layer_model_proj"),
                                       std::string_view("per_layer_proj_norm")};
  return std::ranges::find(names, base) != names.end();
}

Amount gpu_bytes(const gguf::TensorInfo& tensor, u64 bytes) {
  const TypeInfo& info = type_info(*tensor.type());
  Amount size = bytes;
  const u64 rest = tensor.ne.empty() ? 0 : tensor.ne.front() % gpu_row;
  if (info.block_elements > 1 && rest != 0) size += (gpu_row - rest) / info.block_elements * info.block_bytes;
  return padded(size, gpu_alignment);
}

}  // namespace

u64 Placement::first_gpu_layer(u64 blocks) const {
  if (!has_gpu || gpu_layers == 0) return blocks + 1;
  return gpu_layers > blocks ? 0 : blocks + 1 - gpu_layers;
}

bool is_expert_tensor(std::string_view name) {
  // Matches \.ffn_(up|down|gate|gate_up)_(ch|)exps.
  static constexpr std::array roles = {std::string_view("up_"), std::string_view("down_"), std::string_view("gate_up_"),
                                       std::string_view("gate_")};
  constexpr std::string_view prefix = ".ffn_";
  for (std::size_t at = name.find(prefix); at != std::string_view::npos; at = name.find(prefix, at + 1)) {
    const std::string_view rest = name.substr(at + prefix.size());
    for (const std::string_view role : roles) {
      if (!rest.starts_with(role)) continue;
      const std::string_view tail = rest.substr(role.size());
      if (tail.starts_with("exps") || tail.starts_with("chexps")) return true;
    }
  }
  return false;
}

u64 blocks_of_tensors(const gguf::SplitSet& set) {
  u64 blocks = 0;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      const std::optional<u64> block = block_of(tensor.name);
      if (block && *block < max_blocks) blocks = std::max(blocks, *block + 1);
    }
  }
  return blocks;
}

void WeightTable::Part::add(const Part& other) {
  gpu += other.gpu;
  host += other.host;
  largest = max(largest, other.largest);
}

WeightTable::WeightTable(const gguf::SplitSet& set, const Layout& layout)
    : blocks_(layout.blocks), layers_(static_cast<std::size_t>(layout.blocks) + 1) {
  bool has_output = false;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      has_output = has_output || tensor.name == "output.weight";
      add_tensor(tensor, layout);
    }
  }
  if (has_output || !layout.shares_embedding) shared_embedding_ = {};
}

std::size_t WeightTable::layer_of(std::string_view name, const Layout& layout, bool& input) const {
  const std::string_view base = base_of(name);
  if (const std::optional<u64> block = block_of(name)) {
    return static_cast<std::size_t>(std::min(*block, layout.blocks));
  }
  input = is_input(base);
  const bool is_first = is_of_first_block(base) && !(layout.is_behind_layers && layout.is_behind_layers(base));
  return is_first ? 0 : static_cast<std::size_t>(layout.blocks);
}

void WeightTable::add_tensor(const gguf::TensorInfo& tensor, const Layout& layout) {
  const std::string_view name = tensor.name;
  const std::optional<u64> block = block_of(name);
  if (block && *block >= layout.loaded_blocks) return;
  const std::optional<u64> bytes = tensor.type() ? tensor.bytes() : std::nullopt;
  if (!bytes) {
    ++unknown_sizes_;
    return;
  }
  const bool is_matrix = tensor.ne.size() > 1;
  const Part part = {gpu_bytes(tensor, *bytes), padded(*bytes, host_alignment), is_matrix ? Amount(*bytes) : Amount()};
  bool input = false;
  const std::size_t number = layer_of(name, layout, input);
  if (name == "token_embd.weight") shared_embedding_ = part;
  if (input) {
    input_host_ += part.host;
    return;
  }
  if (base_of(name) == "rope_freqs") {
    rope_factors_.add(part);
    return;
  }
  Layer& layer = layers_[number];
  if (layout.stays_on_host && layout.stays_on_host(name)) {
    layer.pinned_host += part.host;
    layer.pinned_largest = max(layer.pinned_largest, part.largest);
    return;
  }
  const bool is_expert = block && is_expert_tensor(name);
  has_experts_ = has_experts_ || is_expert;
  (is_expert ? layer.experts : layer.plain).add(part);
}

std::vector<Amount> WeightTable::gpu_layers(const Placement& placement) const {
  std::vector<Amount> sizes(layers_.size());
  const auto first = static_cast<std::size_t>(std::min<u64>(placement.first_gpu_layer(blocks_), layers_.size()));
  for (std::size_t i = first; i < layers_.size(); ++i) {
    sizes[i] = layers_[i].plain.gpu;
    if (i >= placement.host_expert_blocks) sizes[i] += layers_[i].experts.gpu;
  }
  if (first < layers_.size()) sizes.back() += shared_embedding_.gpu;
  return sizes;
}

WeightSizes WeightTable::place(const Placement& placement) const {
  const u64 first = placement.first_gpu_layer(blocks_);
  WeightSizes sizes;
  sizes.host = input_host_;
  const auto on_host = [&](const Part& part) {
    sizes.host += part.host;
    sizes.largest_host_matrix = max(sizes.largest_host_matrix, part.largest);
  };
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const bool is_on_gpu = i >= first;
    sizes.host += layer.pinned_host;
    sizes.largest_host_matrix = max(sizes.largest_host_matrix, layer.pinned_largest);
    if (is_on_gpu) {
      sizes.gpu += layer.plain.gpu;
    } else {
      on_host(layer.plain);
    }
    if (is_on_gpu && i >= placement.host_expert_blocks) {
      sizes.gpu += layer.experts.gpu;
    } else {
      on_host(layer.experts);
    }
  }
  if (first <= blocks_) sizes.gpu += shared_embedding_.gpu;
  if (first < blocks_) sizes.gpu += rope_factors_.gpu;
  if (first > 0) sizes.host += rope_factors_.host;
  return sizes;
}

}  // namespace modelutils::memory
