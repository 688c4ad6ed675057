#include "model/memory/hyper_parameters.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/types.h"
#include "model/memory/layer_rules.h"

namespace modelutils::memory {

namespace {

constexpr u64 max_context = std::numeric_limits<u32>::max() - cell_padding;  // n_ctx has 32 bits

}  // namespace

bool is_cache_type(TensorType type) {
  static constexpr std::array types = {TensorType::F32,    TensorType::F16,  TensorType::BF16,
                                       TensorType::Q8_0,   TensorType::Q4_0, TensorType::Q4_1,
                                       TensorType::IQ4_NL, TensorType::Q5_0, TensorType::Q5_1};
  return std::ranges::find(types, type) != types.end();
}

Result<Extent> extent_of(const RunOptions& options, u64 trained, bool is_causal) {
  if (!is_cache_type(options.k_type) || !is_cache_type(options.v_type)) {
    const TensorType wrong = is_cache_type(options.k_type) ? options.v_type : options.k_type;
    return usage_error(fmt::format("a KV cache cannot have the type {}", type_name(wrong)));
  }
  const u64 sequences = std::max<u64>(1, options.sequences);
  if (sequences > max_sequences) {
    return usage_error(fmt::format("--sequences must be 1 to {}, as in llama.cpp, not {}", max_sequences, sequences));
  }
  const u64 context = options.context != 0 ? options.context : trained;
  if (context > max_context) {
    return usage_error(fmt::format("--context must be 1 to {} tokens, as in llama.cpp, not {}", max_context, context));
  }
  if (options.batch == 0) return usage_error("--batch must be at least 1 token");
  Extent extent;
  const u64 batch = is_causal ? std::min(context, options.batch) : options.batch;
  extent.ubatch = std::min(batch, options.ubatch != 0 ? options.ubatch : batch);
  extent.outputs = std::min(extent.ubatch, options.outputs != 0 ? options.outputs : batch);
  const u64 all_cells = *padded(context, cell_padding).value();
  extent.streams = options.unified ? 1 : sequences;
  extent.cells = *padded(all_cells / extent.streams, cell_padding).value();
  extent.n_ctx = extent.cells * extent.streams;
  return extent;
}

namespace {

class Reader {
 public:
  Reader(const arch::Facts& stated, const arch::CacheFacts& facts) : stated_(stated) {
    model_.facts = &facts;
    model_.architecture = stated.architecture;
  }

  Result<HyperParameters> read(bool needs_context) {
    MU_TRY(read_blocks());
    MU_TRY(read_context(needs_context));
    MU_TRY(read_heads());
    MU_TRY(read_sizes());
    MU_TRY(add_blocks());
    MU_TRY(read_windows(stated_, model_));
    MU_TRY(read_recurrence(stated_, model_));
    MU_TRY(read_indexer(stated_, model_));
    MU_TRY(read_owners());
    MU_TRY(read_widths());
    return std::move(model_);
  }

 private:
  Status read_blocks() {
    MU_ASSIGN(model_.blocks, needed_number(stated_.layers));
    if (model_.blocks == 0 || model_.blocks > max_blocks) {
      return wrong(stated_.layers, fmt::format("is {}, it must be 1 to {}", model_.blocks, max_blocks));
    }
    u64 predicting = 0;
    if (model_.facts->prediction != arch::PredictionBlocks::unknown) {
      MU_ASSIGN(predicting, number_of(stated_.predicted_layers, 0));
    }
    if (predicting > model_.blocks) {
      return wrong(stated_.predicted_layers, fmt::format("is {}, but there are {} blocks", predicting, model_.blocks));
    }
    model_.trunk = model_.blocks - predicting;
    MU_ASSIGN(model_.embedding, needed_number(stated_.width));
    if (model_.embedding == 0) return wrong(stated_.width, "is 0, it must be at least 1");
    return {};
  }

  Status read_context(bool is_needed) {
    constexpr std::string_view hint = "; use --context to state the number of tokens";
    if (!is_needed) {
      // A wrong value is ignored, because it is not needed.
      if (const auto trained = find_number(stated_.context)) model_.trained_context = *trained;
      return {};
    }
    Result<std::optional<u64>> trained = find_number(stated_.context);
    if (!trained) {
      trained.error().message += hint;
      return tl::make_unexpected(std::move(trained.error()));
    }
    if (!*trained) return wrong(stated_.context, fmt::format("is missing{}", hint));
    constexpr u64 most = u64{1} << 31;
    if (**trained == 0 || **trained > most) {
      return wrong(stated_.context, fmt::format("is {}{}", **trained, hint));
    }
    model_.trained_context = *trained;
    return {};
  }

  Status read_heads() {
    MU_ASSIGN(model_.heads, layers_of(stated_.heads, model_.blocks, 0));
    const bool has_attention =
        model_.facts->recurrence.layers != arch::Recurrence::Layers::all || model_.facts->recurrence.keeps_keys;
    if (has_attention && !stated_.heads.is_stated()) {
      return wrong(stated_.heads, "is missing; the memory cannot be calculated without it");
    }
    MU_ASSIGN(auto kv_heads, find_layers(stated_.kv_heads, model_.blocks, model_.blocks));
    model_.kv_heads = kv_heads ? std::move(*kv_heads) : model_.heads;
    MU_ASSIGN(model_.feed_forward, layers_of(stated_.feed_forward, model_.blocks, 0));
    return {};
  }

  Status read_sizes() {
    if (const u64 heads = model_.heads.front(); heads > 0) {
      MU_ASSIGN(model_.key_length, number_of(stated_.key_length, model_.embedding / heads));
      MU_ASSIGN(model_.value_length, number_of(stated_.value_length, model_.embedding / heads));
    }
    MU_ASSIGN(model_.key_length_sliding, number_of(stated_.key_length_sliding, model_.key_length));
    MU_ASSIGN(model_.value_length_sliding, number_of(stated_.value_length_sliding, model_.value_length));
    if (!model_.facts->is_latent) return {};
    MU_ASSIGN(model_.key_length_latent, number_of(stated_.key_length_latent, 0));
    MU_ASSIGN(const u64 value_length_latent, number_of(stated_.value_length_latent, 0));
    model_.is_latent = model_.key_length_latent > 0 && value_length_latent > 0;
    return {};
  }

  // Adds the blocks that the runtime creates in addition to those in the file.
  Status add_blocks() {
    if (model_.facts->has_loops) {
      MU_ASSIGN(const u64 loops, number_of(stated_.loops, 1));
      if (loops == 0 || loops > max_blocks / model_.blocks) {
        return wrong(stated_.loops, fmt::format("is {}, with {} blocks it must be 1 to {}", loops, model_.blocks,
                                                max_blocks / model_.blocks));
      }
      for (std::vector<u64>* numbers : {&model_.heads, &model_.kv_heads, &model_.feed_forward}) {
        const std::vector<u64> once = *numbers;
        for (u64 i = 1; i < loops; ++i) numbers->insert(numbers->end(), once.begin(), once.end());
      }
      model_.blocks *= loops;
      model_.trunk = model_.blocks;
    }
    if (model_.facts->has_router_layer && model_.blocks < max_blocks) {
      model_.heads.push_back(1);
      model_.kv_heads.push_back(1);
      model_.feed_forward.push_back(0);
      ++model_.blocks;
      model_.trunk = model_.blocks;
    }
    return {};
  }

  Status read_owners() {
    model_.own_layers = model_.facts->cached_layers != 0 ? model_.facts->cached_layers : model_.blocks;
    if (!model_.facts->shares_last_layers) return {};
    MU_ASSIGN(const u64 shared, number_of(stated_.shared_kv_layers, 0));
    if (shared > model_.blocks)
      return wrong(stated_.shared_kv_layers, fmt::format("is {}, but there are {} blocks", shared, model_.blocks));
    model_.own_layers = model_.blocks - shared;
    return {};
  }

  Status read_widths() {
    const auto most = [&](const arch::Fact& fact) -> Result<u64> {
      MU_ASSIGN(const std::vector<u64> values, layers_of(fact, model_.blocks, 0));
      return *std::ranges::max_element(values);
    };
    MU_ASSIGN(model_.experts, number_of(stated_.experts, 0));
    MU_ASSIGN(model_.experts_used, most(stated_.experts_used));
    MU_ASSIGN(model_.expert_width, most(stated_.expert_width));
    MU_ASSIGN(const u64 shared_experts, number_of(stated_.shared_experts, 0));
    MU_ASSIGN(model_.shared_width, number_of(stated_.shared_expert_width, 0));
    model_.shared_width = std::max(model_.shared_width, model_.expert_width * shared_experts);  // both factors have at
                                                                                                // most 32 bits
    model_.layer_input = model_.facts->layer_input_width;
    if (model_.facts->layer_input_has_key) {
      MU_ASSIGN(model_.layer_input, number_of(stated_.layer_input_width, 0));
    }
    return read_vocabulary();
  }

  Status read_vocabulary() {
    if (stated_.tokens) {
      model_.vocabulary = *stated_.tokens;
      return {};
    }
    MU_ASSIGN(model_.vocabulary, number_of(stated_.vocabulary, stated_.embedding_rows.value_or(0)));
    return {};
  }

  const arch::Facts& stated_;
  HyperParameters model_;
};

}  // namespace

u64 HyperParameters::k_elements(std::size_t layer) const {
  return (slides[layer] ? key_length_sliding : key_length) * kv_heads[layer];
}

u64 HyperParameters::v_elements(std::size_t layer) const {
  return (slides[layer] ? value_length_sliding : value_length) * kv_heads[layer];
}

Result<std::optional<HyperParameters>> read_hyper_parameters(const arch::Facts& stated, bool needs_context) {
  if (stated.architecture.empty()) {
    return input_error("fit-key", "is missing; without it, the model is unknown", at_key("general.architecture"));
  }
  const arch::CacheFacts* facts = arch::find_cache_facts(stated.architecture);
  if (facts == nullptr) return std::nullopt;
  MU_ASSIGN(HyperParameters model, Reader(stated, *facts).read(needs_context));
  return model;
}

Result<std::optional<HyperParameters>> read_hyper_parameters(const gguf::SplitSet& set, bool needs_context) {
  MU_ASSIGN(const arch::Facts stated, arch::read_facts(set));
  return read_hyper_parameters(stated, needs_context);
}

}  // namespace modelutils::memory
