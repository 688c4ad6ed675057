#include "model/gguf_hyper_parameters.h"

#include <fmt/format.h>

namespace modelutils {

namespace {

constexpr u64 max_layers = 512;
constexpr u64 max_experts = 512;
constexpr u64 max_width = u64{1} << 31;  // far above any model; keeps products of two inside 64 bits

Result<u64> required_number(const gguf::Index& index, std::string_view suffix, u64 limit) {
  const std::string key = index.arch_key(suffix);
  const std::optional<u64> value = index.unsigned_value(key);
  if (!value)
    return input_error("loader-key", "is missing or no whole number; the loader needs it", "key '" + key + "'");
  if (*value == 0 || *value > limit) {
    return input_error("loader-key", fmt::format("is {}, 1 to {} is possible", *value, limit), "key '" + key + "'");
  }
  return *value;
}

Result<u64> optional_number(const gguf::Index& index, std::string_view suffix, u64 fallback, u64 limit) {
  const std::string key = index.arch_key(suffix);
  if (index.key(key) == nullptr) return fallback;
  const std::optional<u64> value = index.unsigned_value(key);
  if (!value || *value > limit) {
    return input_error("loader-key", fmt::format("is no whole number up to {}", limit), "key '" + key + "'");
  }
  return *value;
}

}  // namespace

Result<HyperParameters> hyper_parameters_of(const Architecture& architecture, const gguf::Index& index) {
  HyperParameters p;
  MU_ASSIGN(p.n_layer, required_number(index, "block_count", max_layers));
  MU_ASSIGN(p.n_embd, required_number(index, "embedding_length", max_width));
  MU_ASSIGN(p.n_head, required_number(index, "attention.head_count", max_width));
  MU_ASSIGN(p.n_head_kv, optional_number(index, "attention.head_count_kv", p.n_head, max_width));
  MU_ASSIGN(p.n_ff, optional_number(index, "feed_forward_length", 0, max_width));
  MU_ASSIGN(p.head_dim, optional_number(index, "attention.key_length", p.n_embd / p.n_head, max_width));
  MU_ASSIGN(p.n_rot, optional_number(index, "rope.dimension_count", p.head_dim, max_width));
  MU_ASSIGN(p.n_expert, optional_number(index, "expert_count", 0, max_experts));
  MU_ASSIGN(p.n_expert_used, optional_number(index, "expert_used_count", 0, max_experts));
  if ((p.n_expert == 0) != (p.n_expert_used == 0) || p.n_expert_used > p.n_expert) {
    return input_error("loader-key",
                       fmt::format("{} experts of which {} are used: the loader aborts", p.n_expert, p.n_expert_used),
                       "key '" + index.arch_key("expert_used_count") + "'");
  }
  if (p.n_expert > 0) {
    const u64 width = architecture.has_shared_expert || architecture.experts == Presence::required
                          ? p.n_ff / p.n_expert_used
                          : p.n_ff;
    MU_ASSIGN(p.n_ff_expert, optional_number(index, "expert_feed_forward_length", width, max_width));
    MU_ASSIGN(p.n_ff_shared, optional_number(index, "expert_shared_feed_forward_length", p.n_ff, max_width));
  }
  if (const gguf::ArrayRef* tokens = index.array_value("tokenizer.ggml.tokens")) {
    p.n_vocab = tokens->count;
  } else {
    MU_ASSIGN(p.n_vocab, optional_number(index, "vocab_size", 0, max_width));
  }
  return p;
}

}  // namespace modelutils
