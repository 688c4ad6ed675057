#include "memory/hyper_parameters.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/checked_math.h"
#include "gguf/keys.h"
#include "memory/key_reader.h"
#include "memory/layer_rules.h"

namespace modelutils::memory {

namespace {

class Reader {
 public:
  Reader(const gguf::Index& index, const gguf::SetFile& file, const arch::CacheFacts& facts)
      : index_(index), keys_(index, file) {
    model_.facts = &facts;
    model_.architecture = index.architecture();
  }

  Result<HyperParameters> read(bool needs_context) {
    MU_TRY(read_blocks());
    MU_TRY(read_context(needs_context));
    MU_TRY(read_heads());
    MU_TRY(read_sizes());
    MU_TRY(add_blocks());
    MU_TRY(read_windows(keys_, model_));
    MU_TRY(read_recurrence(keys_, model_));
    MU_TRY(read_indexer(keys_, model_));
    MU_TRY(read_owners());
    MU_TRY(read_widths());
    return std::move(model_);
  }

 private:
  Status read_blocks() {
    MU_ASSIGN(model_.blocks, keys_.needed("block_count"));
    if (model_.blocks == 0 || model_.blocks > max_blocks) {
      return keys_.wrong("block_count", fmt::format("is {}, it must be 1 to {}", model_.blocks, max_blocks));
    }
    u64 predicting = 0;
    if (model_.facts->prediction != arch::PredictionBlocks::unknown) {
      MU_ASSIGN(predicting, keys_.number("nextn_predict_layers", 0));
    }
    if (predicting > model_.blocks) {
      return keys_.wrong("nextn_predict_layers",
                         fmt::format("is {}, but there are {} blocks", predicting, model_.blocks));
    }
    model_.trunk = model_.blocks - predicting;
    MU_ASSIGN(model_.embedding, keys_.needed("embedding_length"));
    if (model_.embedding == 0) return keys_.wrong("embedding_length", "is 0, it must be at least 1");
    return {};
  }

  Status read_context(bool is_needed) {
    constexpr std::string_view hint = "; --context says for how many tokens to calculate";
    if (!is_needed) {
      // A wrong value is ignored, because it is not needed.
      if (const auto trained = keys_.find("context_length")) model_.trained_context = *trained;
      return {};
    }
    Result<std::optional<u64>> trained = keys_.find("context_length");
    if (!trained) {
      trained.error().message += hint;
      return tl::make_unexpected(std::move(trained.error()));
    }
    if (!*trained) return keys_.wrong("context_length", fmt::format("is missing{}", hint));
    constexpr u64 most = u64{1} << 31;
    if (**trained == 0 || **trained > most) {
      return keys_.wrong("context_length", fmt::format("is {}{}", **trained, hint));
    }
    model_.trained_context = *trained;
    return {};
  }

  Status read_heads() {
    MU_ASSIGN(model_.heads, keys_.layers("attention.head_count", model_.blocks, 0));
    const bool has_attention =
        model_.facts->recurrence.layers != arch::Recurrence::Layers::all || model_.facts->recurrence.keeps_keys;
    if (has_attention && !keys_.has("attention.head_count")) {
      return keys_.wrong("attention.head_count", "is missing; the memory cannot be calculated without it");
    }
    MU_ASSIGN(auto kv_heads, keys_.find_layers("attention.head_count_kv", model_.blocks, model_.blocks));
    model_.kv_heads = kv_heads ? std::move(*kv_heads) : model_.heads;
    MU_ASSIGN(model_.feed_forward, keys_.layers("feed_forward_length", model_.blocks, 0));
    return {};
  }

  Status read_sizes() {
    if (const u64 heads = model_.heads.front(); heads > 0) {
      MU_ASSIGN(model_.key_length, keys_.number("attention.key_length", model_.embedding / heads));
      MU_ASSIGN(model_.value_length, keys_.number("attention.value_length", model_.embedding / heads));
    }
    MU_ASSIGN(model_.key_length_sliding, keys_.number("attention.key_length_swa", model_.key_length));
    MU_ASSIGN(model_.value_length_sliding, keys_.number("attention.value_length_swa", model_.value_length));
    if (!model_.facts->is_latent) return {};
    MU_ASSIGN(model_.key_length_latent, keys_.number("attention.key_length_mla", 0));
    MU_ASSIGN(const u64 value_length_latent, keys_.number("attention.value_length_mla", 0));
    model_.is_latent = model_.key_length_latent > 0 && value_length_latent > 0;
    return {};
  }

  // Adds the blocks that the runtime creates in addition to those in the file.
  Status add_blocks() {
    if (model_.facts->has_loops) {
      MU_ASSIGN(const u64 loops, keys_.number("num_loops", 1));
      if (loops == 0 || loops > max_blocks / model_.blocks) {
        return keys_.wrong("num_loops", fmt::format("is {}, with {} blocks it must be 1 to {}", loops, model_.blocks,
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
    constexpr std::string_view key = "attention.shared_kv_layers";
    MU_ASSIGN(const u64 shared, keys_.number(key, 0));
    if (shared > model_.blocks)
      return keys_.wrong(key, fmt::format("is {}, but there are {} blocks", shared, model_.blocks));
    model_.own_layers = model_.blocks - shared;
    return {};
  }

  Status read_widths() {
    const auto most = [&](std::string_view key) -> Result<u64> {
      MU_ASSIGN(const std::vector<u64> values, keys_.layers(key, model_.blocks, 0));
      return *std::ranges::max_element(values);
    };
    MU_ASSIGN(model_.experts, keys_.number("expert_count", 0));
    MU_ASSIGN(model_.experts_used, most("expert_used_count"));
    MU_ASSIGN(model_.expert_width, most("expert_feed_forward_length"));
    MU_ASSIGN(const u64 shared_experts, keys_.number("expert_shared_count", 0));
    MU_ASSIGN(model_.shared_width, keys_.number("expert_shared_feed_forward_length", 0));
    model_.shared_width = std::max(model_.shared_width, model_.expert_width * shared_experts);  // both factors have at
                                                                                                // most 32 bits
    model_.layer_input = model_.facts->layer_input_width;
    if (model_.facts->layer_input_has_key) {
      MU_ASSIGN(model_.layer_input, keys_.number("embedding_length_per_layer_input", 0));
    }
    return read_vocabulary();
  }

  Status read_vocabulary() {
    if (const gguf::ArrayRef* tokens = index_.array_value("tokenizer.ggml.tokens")) {
      model_.vocabulary = tokens->count;
      return {};
    }
    const gguf::TensorInfo* embedding = index_.tensor("token_embd.weight");
    const bool has_rows = embedding != nullptr && embedding->ne.size() == 2;
    MU_ASSIGN(model_.vocabulary, keys_.number("vocab_size", has_rows ? embedding->ne[1] : 0));
    return {};
  }

  const gguf::Index& index_;
  KeyReader keys_;
  HyperParameters model_;
};

}  // namespace

u64 HyperParameters::k_elements(std::size_t layer) const {
  return (slides[layer] ? key_length_sliding : key_length) * kv_heads[layer];
}

u64 HyperParameters::v_elements(std::size_t layer) const {
  return (slides[layer] ? value_length_sliding : value_length) * kv_heads[layer];
}

Result<std::optional<HyperParameters>> read_hyper_parameters(const gguf::SplitSet& set, bool needs_context) {
  const gguf::SetFile& file = set.files.front();
  const gguf::Index index(file.document);
  if (index.architecture().empty()) {
    return input_error("fit-key", "is missing; nothing is known of the model without it",
                       at_key("general.architecture"));
  }
  const arch::CacheFacts* facts = arch::find_cache_facts(index.architecture());
  if (facts == nullptr) return std::nullopt;
  MU_ASSIGN(HyperParameters model, Reader(index, file, *facts).read(needs_context));
  return model;
}

}  // namespace modelutils::memory
