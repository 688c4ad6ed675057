// MiniCPM: a llama with scaled embedding, residual and output.
#include <cmath>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::minicpm {

constexpr auto sizes = decoder_sizes({.epsilon = "1e-6"});

// The residual is scaled by scale_depth / sqrt(layers); the final state is divided by width / dim_model_base.
static Status write_scales(KeyWriter& out, const Key&) {
  const hf::Config& config = out.config();
  MU_TRY(out.real("embedding_scale", config.number_field("scale_emb").value_or(1)));
  const double depth = config.number_field("scale_depth").value_or(1);
  MU_TRY(out.real("residual_scale", depth / std::sqrt(static_cast<double>(out.size("L")))));
  const double base = config.number_field("dim_model_base").value_or(1);
  if (!(base > 0)) return out.refuse("dim_model_base", "is not more than 0");
  const bool is_undivided = out.is_mlx() && config.tie_word_embeddings.value_or(false) && out.size("head") == 0;
  if (is_undivided) {
    out.warn("dim_model_base",
             "is ignored by mlx-lm if the embedding is the output head: the logits are not divided here either, "
             "although the model's own class divides them");
  }
  return out.real("logit_scale", is_undivided ? 1 : static_cast<double>(out.size("E")) / base);
}
static Status read_scales(ConfigWriter& out, const Key&) {
  const double root = std::sqrt(static_cast<double>(out.size("L")));
  const auto embedding = out.real("embedding_scale");
  const auto residual = out.real("residual_scale");
  const auto logits = out.real("logit_scale");
  if (logits && !(*logits > 0)) return out.refuse("logit_scale", "is not more than 0");
  // If the keys are absent, llama.cpp uses the constants of the first MiniCPM.
  out.set("scale_emb", embedding.value_or(12));
  out.set("scale_depth", residual ? *residual * root : 1.4);
  out.set("dim_model_base", std::round(logits ? static_cast<double>(out.size("E")) / *logits : 256));
  return {};
}
constexpr Key scales[] = {
    {.name = "embedding_scale", .type = KeyType::f32, .write = write_scales, .read = read_scales},
    {.name = "residual_scale", .type = KeyType::f32},
    {.name = "logit_scale", .type = KeyType::f32},
};

constexpr Family minicpm = {
    .name = "minicpm",
    .gguf = "minicpm",
    .classes = "MiniCPMForCausalLM",
    .model_types = "minicpm",
    .about = "scaled embedding, residual and output",
    .tied_by_default = true,
    .mlx_rope_theta = 1e6,
    .keys = {sizes, rope_keys, scales},
    .layer_tensors = {attention_of_pairs, gated_feed_forward},
    .first_tensors = embedding_and_rope,
    .fixed = {rotates_whole_head},
};
MU_FAMILY(minicpm);

}  // namespace modelutils::arch::families::minicpm
