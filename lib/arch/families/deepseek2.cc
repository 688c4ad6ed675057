// DeepSeek V2 and V3, Kimi K2, GLM-4.7 Flash, Youtu: keys and values are computed from a low-rank vector (MLA). The
// first layers are dense; the others have experts and shared experts.
#include <fmt/core.h>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/geometry.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"
#include "arch/prediction_rows.h"

namespace modelutils::arch::families::deepseek2 {

constexpr auto sizes = mla_sizes(decoder_sizes({.context = "2048", .epsilon = "1e-6"}));
constexpr auto glm_sizes = mla_sizes(decoder_sizes({.context = "202752", .epsilon = "1e-5"}));

// The loader requires these keys in dense models too.
static Status write_leading(KeyWriter& out, const Key& key) {
  return out.count(key.name, out.size("X") > 0 ? out.size("Ld") : out.size("L"));
}
static Status write_expert_width(KeyWriter& out, const Key& key) {
  return out.count(key.name, out.size("X") > 0 ? out.size("Fx") : out.size("F"));
}
constexpr std::array<Key, 4> mixture(std::string_view gating) {
  std::array<Key, 4> keys = {leading_dense, expert_width, shared_expert_count, expert_gating(gating)};
  named(keys, "leading_dense_block_count").when = named(keys, "expert_feed_forward_length").when =
      named(keys, "expert_shared_count").when = {};
  named(keys, "leading_dense_block_count").write = write_leading;
  named(keys, "expert_feed_forward_length").write = write_expert_width;
  named(keys, "expert_feed_forward_length").loader_default = {};
  named(keys, "expert_gating_func").symbol = "Gf";
  // Files written before this key existed use softmax, except GLM-4.7-Flash (llama.cpp's src/models/deepseek2.cpp).
  named(keys, "expert_gating_func").loader_default = "1+((V==154880) & (L==47)+(L==48))";
  return keys;
}
constexpr auto softmax_mixture = mixture("1");
constexpr auto sigmoid_mixture = mixture("2");

constexpr auto v3_weights = weights_of_experts("1", "true");
constexpr auto glm_weights = weights_of_experts("1.8", "true");
constexpr Key softmax_weights[] = {named(expert_weights, "expert_weights_scale")};

constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {.name = "attn_q", .ne = "E,H*D", .source = "self_attn.q_proj", .when = "!Rq"},
    {.name = "attn_q_a", .ne = "E,Rq", .source = "self_attn.q_a_proj", .when = "Rq"},
    {.name = "attn_q_a_norm", .ne = "Rq", .source = "self_attn.q_a_layernorm", .when = "Rq"},
    {.name = "attn_q_b", .ne = "Rq,H*D", .source = "self_attn.q_b_proj", .when = "Rq"},
    {"attn_output", "H*Dv,E", "self_attn.o_proj"},
    {"ffn_norm", "E", "post_attention_layernorm"},
};
constexpr auto experts = routed_experts(expert_layers);
constexpr Tensor choice_bias[] = {[] {
  Tensor row = named(expert_choice_bias, "@exp_probs_b.bias");
  row.need = Need::optional;
  return row;
}()};

// The loader accepts it for any gating function, but directories have no name for it with softmax.
constexpr auto softmax_choice_bias = arch::choice_bias("[!X] mlp.gate.e_score_correction_bias", Need::optional);

constexpr Fixed fixed[] = {
    {"attention_bias", "false", Severity::error, "llama.cpp has no biases here"},
    {"moe_layer_freq", "1", Severity::error, "llama.cpp requires experts in every layer after the dense ones"},
    {"rope_traditional", "true", Severity::error, "this architecture rotates adjacent pairs in every runtime"},
};
constexpr Fixed v2_fixed[] = {
    named(fixed, "attention_bias"),
    named(fixed, "moe_layer_freq"),
    named(fixed, "rope_traditional"),
    {"topk_method", "greedy|gready|group_limited_greedy", Severity::error, "this architecture chooses differently"},
    {"scoring_func", "softmax", Severity::error, "this architecture has a softmax over the experts"},
    {"norm_topk_prob", "false", Severity::warning, "mlx-lm and the converted model compute as if it were false"},
};
constexpr Fixed dense_fixed[] = {
    named(fixed, "attention_bias"),
    {"mlp_bias", "false", Severity::error, "llama.cpp has no biases here"},
    named(fixed, "rope_traditional"),
};
constexpr Fixed v3_fixed[] = {
    named(fixed, "attention_bias"),
    named(fixed, "moe_layer_freq"),
    named(fixed, "rope_traditional"),
    {"topk_method", "noaux_tc", Severity::error, "this architecture chooses differently"},
    {"scoring_func", "sigmoid", Severity::error, "this architecture scores experts by a sigmoid"},
};

// llama.cpp assumes that models with certain layer counts have no low rank for queries.
static Status check_query_rank(KeyWriter& out) {
  const u64 layers = out.size("L");
  const bool is_lite = layers == 26 || layers == 27;
  if (is_lite == (out.size("Rq") == 0)) return {};
  return out.refuse("q_lora_rank",
                    is_lite ? "is present, but with 26 or 27 layers llama.cpp expects queries without low rank"
                            : "is missing; without it llama.cpp accepts only 26 or 27 layers");
}
// llama.cpp ranks groups by their two best experts, this class by the single best one.
static Status check_groups(KeyWriter& out) {
  const u64 groups = out.config().count_field("n_group").value_or(1);
  const u64 used = out.config().count_field("topk_group").value_or(groups);
  if (out.config().string_field("topk_method") != "group_limited_greedy" || used >= groups) return {};
  return out.refuse("topk_method",
                    fmt::format("is group_limited_greedy over {} groups, which this architecture ranks by "
                                "their best expert; llama.cpp ranks groups by their two best",
                                groups));
}
constexpr Relation relations[] = {
    {"K*!Old", "!Old", {}, "the cache has one head for all, with the low-rank and the rotated part"},
};
constexpr Member members[] = {
    {"num_key_value_heads", "=H"}, {"qk_nope_head_dim", "=D-R"}, {"q_lora_rank", "null", "!Rq"}, {"n_group", "1"},
    {"topk_group", "1"},           {"rope_scaling", "null"},
};

constexpr Member dense_members[] = {
    {"num_key_value_heads", "=H"},
    {"qk_nope_head_dim", "=D-R"},
    {"q_lora_rank", "null", "!Rq"},
    {"rope_scaling", "null"},
};
constexpr auto feed_forward_everywhere = feed_forward_of({});

// mlx-lm keeps one matrix for keys and values only in these classes.
constexpr auto joined_latent = [] {
  auto rows = mla_tensors;
  named(rows, "attn_k_b").source = "self_attn.kv_b_proj{{H s:D-R+Dv c:Rk -> H c s[0:D-R]}} | self_attn.embed_q";
  named(rows, "attn_v_b").source = "self_attn.kv_b_proj{H s:D-R+Dv -> H s[D-R:D-R+Dv]} | self_attn.unembed_out";
  named(rows, "attn_k_b").stored = "H*(D-R+Dv),Rk";
  named(rows, "attn_v_b").plain = "shares a matrix with attn_k_b, which is transposed; F32 keeps both exact";
  return rows;
}();

// The defaults of mlx-lm's class.
constexpr auto dense_sizes = mla_sizes(decoder_sizes({.context = "131072", .epsilon = "1e-6"}));
constexpr Key dense_rows[] = {
    {.name = "leading_dense_block_count", .fallback = "L", .missing = Missing::assume},
    {.name = "expert_feed_forward_length", .fallback = "F", .missing = Missing::assume},
    {.name = "expert_shared_count", .fallback = "0", .missing = Missing::assume},
};

constexpr Family youtu = {
    .name = "youtu",
    .gguf = "deepseek2",
    .classes = "YoutuForCausalLM",
    .model_types = "youtu_llm|youtu",
    .about = "low-rank keys and values, no experts",
    .gguf_when = "!X",
    .tied_by_default = true,
    .hf_rope_theta = 1.6e6,
    .loads_without = "attention.key_length",
    .keys = {dense_sizes, mla_rope_keys, expert_keys, dense_rows},
    .layer_tensors = {layer, joined_latent, feed_forward_everywhere},
    .fixed = dense_fixed,
    .relations = relations,
    .checks = {check_query_rank},
    .config = {.members = dense_members},
    .cache = {.is_latent = true, .prediction = PredictionBlocks::cached, .may_lack_prediction = true},
};
MU_FAMILY(youtu);

constexpr Family deepseek_v3 = {
    .name = "deepseek3",
    .gguf = "deepseek2",
    .classes = "DeepseekV3ForCausalLM",
    .model_types = "deepseek_v3|kimi_k2|joyai_llm_flash",
    .about = "low-rank keys and values; experts in groups, scored by a sigmoid with a selection bias",
    .gguf_when = "Gf==2",
    .loads_without = "attention.key_length",
    .keys = {sizes, mla_rope_keys, expert_keys, sigmoid_mixture, v3_weights, expert_groups},
    .layer_tensors = {layer, mla_tensors, leading_feed_forward, experts, choice_bias, deepseek_shared_experts},
    .prediction = {.tensors = nextn_tensors, .runs = true},
    .layer_counts = "26|27|47|48",
    .fixed = v3_fixed,
    .relations = relations,
    .checks = {check_query_rank},
    .config = {.fields = "n_routed_experts", .members = members},
    .cache = {.is_latent = true, .prediction = PredictionBlocks::cached, .may_lack_prediction = true},
    .tokenizer = {.pre_of_ranks = "kimi_k2=kimi-k2"},
};
MU_FAMILY(deepseek_v3);

constexpr Family deepseek_v2 = {
    .name = "deepseek2",
    .gguf = "deepseek2",
    .classes = "DeepseekV2ForCausalLM",
    .model_types = "deepseek_v2",
    .about = "low-rank keys and values; experts scored by a softmax",
    .loads_without = "attention.key_length",
    .keys = {sizes, mla_rope_keys, expert_keys, softmax_mixture, softmax_weights, expert_groups},
    .layer_tensors = {layer, joined_latent, leading_feed_forward, experts, softmax_choice_bias,
                      deepseek_shared_experts},
    .layer_counts = "26|27|47|48",
    .fixed = v2_fixed,
    .relations = relations,
    .checks = {check_query_rank, check_groups},
    .config = {.fields = "n_routed_experts", .members = members},
    .cache = {.is_latent = true, .prediction = PredictionBlocks::cached, .may_lack_prediction = true},
};
MU_FAMILY(deepseek_v2);

constexpr Family glm4_moe_lite = {
    .name = "glm4moelite",
    .gguf = "deepseek2",
    .classes = "Glm4MoeLiteForCausalLM",
    .model_types = "glm4_moe_lite",
    .about = "as deepseek3, with other defaults",
    .gguf_when = "Gf==2 & V==154880 & (L==47)+(L==48)",  // the condition by which llama.cpp recognises GLM-4.7-Flash
    .gguf_pre = "glm4",                                  // for other sizes: fewer experts or another vocabulary
    .hf_rope_theta = 1e6,
    .loads_without = "attention.key_length",
    .keys = {glm_sizes, mla_rope_keys, expert_keys, sigmoid_mixture, glm_weights, expert_groups},
    .layer_tensors = {layer, mla_tensors, leading_feed_forward, experts, choice_bias, deepseek_shared_experts},
    .prediction = {.tensors = nextn_tensors, .runs = true},
    .layer_counts = "26|27|47|48",
    .fixed = v3_fixed,
    .relations = relations,
    .checks = {check_query_rank},
    .config = {.fields = "n_routed_experts", .members = members},
    .cache = {.is_latent = true, .prediction = PredictionBlocks::cached, .may_lack_prediction = true},
};
MU_FAMILY(glm4_moe_lite);

}  // namespace modelutils::arch::families::deepseek2
