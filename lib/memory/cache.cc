#include "memory/cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "memory/amount.h"

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

}  // namespace modelutils::memory
