// Llamas that see the whole text: EuroBERT, which rotates halves of a head, and NVIDIA's embedding models, which rotate
// adjacent pairs.
#include "arch/encoder_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::eurobert {

constexpr auto sizes = decoder_sizes({.epsilon = "1e-5"});
constexpr Key whole_text[] = {
    {.name = "attention.causal", .type = KeyType::flag, .fallback = "false", .missing = Missing::assume},
};
constexpr Tensor last[] = {{"output_norm", "E", "model.norm"}};

static Status refuse_scaling(KeyWriter& out) {
  if (!out.config().rope.scaling) return {};
  return out.refuse("rope_scaling", "scales the rotary embedding, which llama.cpp does not do for this architecture");
}

constexpr Family eurobert = {
    .name = "eurobert",
    .gguf = "eurobert",
    .classes = "EuroBertModel|EuroBertForMaskedLM|JinaEmbeddingsV5Model",
    .model_types = "eurobert|jina_embeddings_v5",
    .about = "an encoder with a llama's layers",
    .left_out = "lm_head.",
    .head = OutputHead::never,
    .hf_rope_theta = 250000,
    .keys = {sizes, said_rope_keys, whole_text, no_token_types},
    .layer_tensors = {attention, attention_output, gated_feed_forward},
    .last_tensors = last,
    .fixed = {rotates_halves,
              {"attention_bias", "false", Severity::error, "llama.cpp has no biases for this architecture"},
              {"mlp_bias", "false", Severity::error, "llama.cpp has no biases for this architecture"}},
    .checks = {refuse_scaling},
    .cache = {.has_cache = false},
};
MU_FAMILY(eurobert);

constexpr Family llama_embed = {
    .name = "llama-embed",
    .gguf = "llama-embed",
    .classes = "LlamaBidirectionalModel",
    .model_types = "llama_bidirec",
    .about = "a llama that sees the whole text",
    .left_out = "lm_head.",
    .head = OutputHead::never,
    .keys = {sizes, rope_keys, whole_text},
    .layer_tensors = {attention_of_pairs, gated_feed_forward_with_biases},
    .first_tensors = embedding_and_rope,
    .last_tensors = last,
    .fixed = {{"partial_rotary_factor", "1", Severity::error, "in a GGUF a llama rotates the whole head"}},
    .config = {.members = {{"attention_bias", "@attn_q.bias"}, {"mlp_bias", "@ffn_gate.bias"}}},
};
MU_FAMILY(llama_embed);

}  // namespace modelutils::arch::families::eurobert
