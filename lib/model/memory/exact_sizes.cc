#include "model/memory/exact_sizes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "arch/names.h"
#include "model/memory/hyper_parameters.h"
#include "model/memory/layer_rules.h"

namespace modelutils::memory {

namespace {

constexpr u64 f32_bytes = 4;

class Builder {
 public:
  Builder(const HyperParameters& model, const RunOptions& options, const Extent& extent)
      : model_(model), options_(options), extent_(extent), sequences_(std::max<u64>(1, options.sequences)) {}

  Result<Caches> build() {
    if (!model_.facts->has_cache) return Caches();
    MU_TRY(check_types());
    if (model_.facts->indexer == arch::Indexer::compressed) {
      MU_TRY(add_compressed());
    } else {
      MU_TRY(add_attention());
      MU_TRY(add_indexers());
      MU_TRY(add_states());
    }
    MU_TRY(add_up());
    return std::move(caches_);
  }

 private:
  // Rejects types that llama.cpp rejects when it creates a context.
  Status check_types() const {
    if (model_.is_latent && options_.k_type != options_.v_type) {
      return usage_error(
          fmt::format("latent attention caches keys and values together: --kv must name one type, not {},{}",
                      type_name(options_.k_type), type_name(options_.v_type)));
    }
    return {};
  }

  // Returns the size of `cells` rows of `elements` elements.
  Result<Amount> rows(TensorType type, u64 elements, Amount cells) const {
    const TypeInfo& info = type_info(type);
    if (elements % info.block_elements != 0) {
      return usage_error(
          fmt::format("a cache of type {} needs rows of whole blocks of {} values, but this model's rows have {}",
                      info.name, info.block_elements, elements));
    }
    return Amount(elements / info.block_elements) * info.block_bytes * cells;
  }

  Status add(std::size_t layer, CacheKind kind, u64 cells, u64 streams, Amount k, Amount v, Amount f32 = 0) {
    if (!k.value() || !v.value() || !f32.value()) return too_large(layer);
    caches_.layers.push_back({layer, kind, cells, streams, *k.value(), *v.value(), *f32.value()});
    return {};
  }

  tl::unexpected<Error> too_large(std::size_t layer) const {
    return input_error("fit-too-large",
                       fmt::format("the cache exceeds 2^64 bytes: {} cells of {} keys and {} values each in {} streams",
                                   extent_.cells, model_.k_elements(layer), model_.v_elements(layer), extent_.streams),
                       fmt::format("layer {}", layer));
  }

  Status add_rows(std::size_t layer, CacheKind kind, u64 cells, u64 streams, u64 k, u64 v, Amount f32 = 0) {
    const Amount all = Amount(cells) * streams;
    MU_ASSIGN(const Amount k_bytes, rows(options_.k_type, k, all));
    MU_ASSIGN(const Amount v_bytes, rows(options_.v_type, v, all));
    return add(layer, kind, cells, streams, k_bytes, v_bytes, f32);
  }

  u64 window_cells(u64 sequences) const {
    if (options_.full_windows) return extent_.cells;
    const Amount wanted = min(extent_.cells, Amount(model_.window) * sequences + extent_.ubatch);
    return padded(wanted, cell_padding).value().value_or(extent_.cells);
  }

  bool has_keys(std::size_t layer) const {
    const arch::Recurrence& recurrence = model_.facts->recurrence;
    const bool is_predicting = layer >= model_.trunk;
    if (layer >= model_.own_layers) return false;
    if (is_predicting && (model_.facts->prediction == arch::PredictionBlocks::uncached ||
                          model_.facts->prediction == arch::PredictionBlocks::loaded)) {
      return false;
    }
    if (recurrence.layers == arch::Recurrence::Layers::without_kv_heads_and_feed_forward &&
        model_.feed_forward[layer] != 0) {
      return false;
    }
    if (recurrence.layers == arch::Recurrence::Layers::all) return recurrence.keeps_keys;
    return !model_.is_recurrent[layer];
  }

  Status add_attention() {
    const auto blocks = static_cast<std::size_t>(model_.blocks);
    u64 widest = 0;  // without flash attention, values are stored transposed and padded to the widest layer
    for (std::size_t i = 0; i < blocks; ++i) widest = std::max(widest, model_.v_elements(i));
    const u64 sliding_cells = window_cells(options_.unified ? sequences_ : 1);
    for (std::size_t i = 0; i < blocks; ++i) {
      if (!has_keys(i)) continue;
      const bool slides = model_.has_windows && model_.slides[i];
      const u64 values = model_.is_latent ? 0 : options_.flash_attention ? model_.v_elements(i) : widest;
      MU_TRY(add_rows(i, slides ? CacheKind::sliding : CacheKind::full, slides ? sliding_cells : extent_.cells,
                      extent_.streams, model_.k_elements(i), values));
    }
    return {};
  }

  Status add_indexers() {
    const bool has_values = model_.facts->indexer == arch::Indexer::behind_dense;
    for (std::size_t i = 0; i < model_.trunk; ++i) {
      if (!model_.has_indexer[i]) continue;
      MU_TRY(add_rows(i, CacheKind::indexer, extent_.cells, extent_.streams, model_.indexer_key,
                      has_values ? model_.value_length : 0));
    }
    return {};
  }

  Amount copies() const {
    return Amount(sequences_) * (1 + (model_.facts->recurrence.keeps_history ? options_.snapshots : 0));
  }

  Status add_states() {
    for (std::size_t i = 0; i < model_.trunk; ++i) {
      if (!model_.is_recurrent[i]) continue;
      MU_TRY(add(i, CacheKind::recurrent, sequences_, 1, Amount(f32_bytes) * model_.rolling * copies(),
                 Amount(f32_bytes) * model_.state * copies()));
    }
    return {};
  }

  // DeepSeek-V4: each layer has a window, and older tokens are compressed to one cell for several tokens. There is
  // always one stream per sequence.
  Status add_compressed() {
    struct Ratio {
      u64 tokens;
      CacheKind kind;
      u64 waiting;     // tokens whose keys are kept in f32 until they are compressed
      bool is_chosen;  // with an indexer
    };
    static constexpr std::array ratios = {Ratio{4, CacheKind::compressed, 8, true},
                                          Ratio{128, CacheKind::summary, 128, false}};
    const auto trunk = static_cast<std::size_t>(model_.trunk);
    for (std::size_t i = 0; i < trunk; ++i) {
      MU_TRY(add_rows(i, CacheKind::sliding, window_cells(1), sequences_, model_.key_length, 0));
    }
    for (const Ratio& ratio : ratios) {
      const u64 cells = *padded(Amount(extent_.cells + ratio.tokens - 1) / ratio.tokens, cell_padding).value();
      for (std::size_t i = 0; i < trunk; ++i) {
        if (model_.compression[i] != ratio.tokens) continue;
        const Amount kept =
            ratio.is_chosen ? Amount(2) * (Amount(model_.key_length) + model_.indexer_key) : Amount(model_.key_length);
        const Amount f32 = Amount(2 * f32_bytes) * copies() * ratio.waiting * kept;
        MU_TRY(add_rows(i, ratio.kind, cells, sequences_, model_.key_length, 0, f32));
        if (ratio.is_chosen) MU_TRY(add_rows(i, CacheKind::indexer, cells, sequences_, model_.indexer_key, 0));
      }
    }
    return {};
  }

  Status add_up() {
    Amount keys, values, rolling, state, f32;
    for (const LayerCache& layer : caches_.layers) {
      const bool is_state = layer.kind == CacheKind::recurrent;
      (is_state ? rolling : keys) += layer.k_bytes;
      (is_state ? state : values) += layer.v_bytes;
      f32 += layer.f32_bytes;
    }
    const Amount all = keys + values + rolling + state + f32;
    if (!all.value()) return input_error("fit-too-large", "the caches of all layers together exceed 2^64 bytes");
    caches_.k_bytes = *keys.value();
    caches_.v_bytes = *values.value();
    caches_.rolling_bytes = *rolling.value();
    caches_.state_bytes = *state.value();
    caches_.f32_bytes = *f32.value();
    return {};
  }

  const HyperParameters& model_;
  const RunOptions& options_;
  const Extent& extent_;
  const u64 sequences_;
  Caches caches_;
};

}  // namespace

std::string_view kind_name(CacheKind kind) {
  switch (kind) {
    case CacheKind::full: return "full";
    case CacheKind::sliding: return "swa";
    case CacheKind::compressed: return "csa";
    case CacheKind::summary: return "hca";
    case CacheKind::indexer: return "indexer";
    case CacheKind::recurrent: return "recurrent";
  }
  return "";
}

Result<Caches> caches_of(const HyperParameters& model, const RunOptions& options, const Extent& extent) {
  return Builder(model, options, extent).build();
}

std::optional<CacheSummary> cache_summary(const arch::Facts& stated) {
  constexpr u64 long_context = u64{1} << 20;  // longer than any window
  const auto hyper = read_hyper_parameters(stated, false);
  if (!hyper || !*hyper || !(*hyper)->facts->has_cache) return std::nullopt;
  RunOptions run;
  run.context = long_context;
  const Result<Extent> extent = extent_of(run, 0, true);
  if (!extent) return std::nullopt;
  const Result<Caches> caches = caches_of(**hyper, run, *extent);
  if (!caches) return std::nullopt;
  CacheSummary summary;
  Amount bytes;
  for (const LayerCache& layer : caches->layers) {
    const Amount both = Amount(layer.k_bytes) + layer.v_bytes;
    if (layer.kind == CacheKind::recurrent) continue;
    if (layer.kind == CacheKind::full || layer.kind == CacheKind::sliding) ++summary.cached_layers;
    if (layer.kind == CacheKind::sliding) ++summary.sliding_layers;
    if (layer.kind != CacheKind::sliding) bytes += both;
  }
  summary.bytes_per_token = bytes.value().value_or(0) / long_context;
  summary.window = summary.sliding_layers > 0 ? (*hyper)->window : 0;
  summary.state_bytes = caches->recurrent_bytes();
  return summary;
}

namespace {

constexpr u64 gpu_alignment = 128;
constexpr u64 host_alignment = 32;
constexpr u64 gpu_row = 512;  // CUDA pads quantised rows to a multiple of this many elements

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
      const std::optional<u64> block = arch::block_of(tensor.name);
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
  if (const std::optional<u64> block = arch::block_of(name)) {
    return static_cast<std::size_t>(std::min(*block, layout.blocks));
  }
  input = is_input(base);
  const bool is_first = is_of_first_block(base) && !(layout.is_behind_layers && layout.is_behind_layers(base));
  return is_first ? 0 : static_cast<std::size_t>(layout.blocks);
}

void WeightTable::add_tensor(const gguf::TensorInfo& tensor, const Layout& layout) {
  const std::string_view name = tensor.name;
  const std::optional<u64> block = arch::block_of(name);
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
