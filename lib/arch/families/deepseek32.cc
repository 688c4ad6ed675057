// DeepSeek V3.2 and GLM-5: DeepSeek V3 with sparse attention. In each layer an indexer, itself a small attention,
// chooses the tokens that the layer attends to. From GLM-5.2 on, a layer may reuse the previous layer's choice.
#include <fmt/core.h>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"
#include "arch/prediction_rows.h"

namespace modelutils::arch::families::deepseek32 {

// llama.cpp assumes shared choices for this context length if the file has no indexer types.
constexpr u64 sharing_context = 1048576;

constexpr auto sizes = mla_sizes(decoder_sizes({.context = "2048", .epsilon = "1e-6"}));
constexpr auto glm_sizes = [] {
  auto keys = mla_sizes(decoder_sizes({.context = "202752", .epsilon = "1e-5"}));
  named(keys, "context_length").symbol = "C";
  return keys;
}();
constexpr auto weights = weights_of_experts("1", "true");
constexpr Key own[] = {
    leading_dense,
    expert_width,
    shared_expert_count,
    expert_gating("2"),
    named(weights, "expert_weights_scale"),
    named(weights, "expert_weights_norm"),
    {.name = "attention.indexer.head_count", .fields = "index_n_heads", .symbol = "Hi", .need = Need::required},
    {.name = "attention.indexer.key_length", .fields = "index_head_dim", .symbol = "Di", .need = Need::required},
    {.name = "attention.indexer.top_k", .fields = "index_topk", .missing = Missing::refuse, .need = Need::required},
};

static std::vector<u64> full_indexers(const hf::Config& config, const Sizes&) {
  return in_layers(kinds_of_layers(config, "indexer_types"), {"full"}, 1);
}
static Status write_types(KeyWriter& out, const Key& key) {
  std::vector<bool> has_indexer;
  for (u64 i = 0; i < out.size("L"); ++i) has_indexer.push_back(out.sizes().get("Ix", i) > 0);
  if (!has_indexer.front())
    return out.refuse("indexer_types", "begins with a layer that has no earlier choice to share");
  const bool is_stated = out.config().field("indexer_types").has_value();
  if (is_stated || out.size("C") >= sharing_context) out.flags(key.name, has_indexer);
  return {};
}
static Status read_types(ConfigWriter& out, const Key& key) {
  if (out.counts(key.name).value_or(std::vector<u64>()).empty() && out.size("C") < sharing_context) return {};
  std::vector<std::string_view> types;
  for (u64 i = 0; i < out.size("L"); ++i) types.push_back(out.sizes().get("Ix", i) > 0 ? "full" : "shared");
  out.set("indexer_types", hf::config_list(types));
  return {};
}
constexpr Key types[] = {{.name = "attention.indexer.types",
                          .type = KeyType::flag_trunk,
                          .symbol = "Ix",
                          .fallback = "1",
                          .loader_default = "(C<1048576) | (i<2) | (i%4==2)",
                          .derive_layers = full_indexers,
                          .write = write_types,
                          .read = read_types}};

constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm"},
    {"attn_q_a", "E,Rq", "self_attn.q_a_proj"},
    {"attn_q_a_norm", "Rq", "self_attn.q_a_layernorm"},
    {"attn_q_b", "Rq,H*D", "self_attn.q_b_proj"},
    {"attn_output", "H*Dv,E", "self_attn.o_proj"},
    {"ffn_norm", "E", "post_attention_layernorm"},
};
constexpr std::array<Tensor, 4> indexer_of(ConditionText when, Need need) {
  return {{
      {"indexer.k_norm", "Di", "self_attn.indexer.k_norm", need, need, when},
      {.name = "indexer.proj", .ne = "E,Hi", .source = "self_attn.indexer.weights_proj", .need = need, .when = when},
      {.name = "indexer.attn_k", .ne = "E,Di", .source = "self_attn.indexer.wk", .need = need, .when = when},
      {.name = "indexer.attn_q_b", .ne = "Rq,Hi*Di", .source = "self_attn.indexer.wq_b", .need = need, .when = when},
  }};
}
constexpr auto indexers = indexer_of({}, Need::required);
constexpr auto glm_indexers = indexer_of("Ix", Need::required);
// config.json does not list whether a prediction block has an indexer, and llama.cpp's graph for the block does not use
// one.
constexpr auto glm_block = joined(nextn_tensors, indexer_of({}, Need::optional));
constexpr auto choice = choice_bias("mlp.gate.e_score_correction_bias", Need::optional);

constexpr std::string_view indexer_rotation = "llama.cpp rotates the indexer's heads differently for this architecture";
constexpr Fixed fixed[] = {
    rotates_pairs,
    {"rope_interleave", "true", Severity::error, rotates_pairs.because},
    {"attention_bias", "false", Severity::error, "llama.cpp has no biases here"},
    {"moe_layer_freq", "1", Severity::error, "llama.cpp requires experts in every layer after the dense ones"},
    {"topk_method", "noaux_tc", Severity::error, "this architecture chooses differently"},
    {"scoring_func", "sigmoid", Severity::error, "this architecture scores experts by a sigmoid"},
    {"indexer_rope_interleave", "false", Severity::error, indexer_rotation},
};
constexpr Fixed glm_fixed[] = {
    named(fixed, "rope_traditional"),
    named(fixed, "rope_interleave"),
    named(fixed, "attention_bias"),
    named(fixed, "moe_layer_freq"),
    named(fixed, "topk_method"),
    named(fixed, "scoring_func"),
    {"indexer_rope_interleave", "true", Severity::error, indexer_rotation},
};
constexpr Relation relations[] = {
    {"KL", "Rk+R", {}, "without latent attention llama.cpp refuses this architecture"},
    {"K", "1", {}, "the cache has one head for all, with the low-rank and the rotated part"},
    {"0<X", "1", "n_routed_experts", "is missing or 0; llama.cpp requires experts for this architecture"},
};
constexpr Member members[] = {
    {"num_key_value_heads", "=H"},
    {"qk_nope_head_dim", "=D-R"},
    {"rope_scaling", "null"},
    {"ep_size", "1"},
};
// llama.cpp applies Hadamard matrices of at least 64 rows to the indexer's heads.
static Status check_indexer(KeyWriter& out) {
  if (out.size("Di") % 64 != 0) {
    out.warn("index_head_dim",
             fmt::format("is {}, not a multiple of 64: llama.cpp loads the model, but aborts when computing",
                         out.size("Di")));
  }
  return {};
}
static Status gather_rope(ConfigWriter& out) {
  gather_rope_parameters(out);
  return {};
}
constexpr std::string_view needs =
    "attention.q_lora_rank|expert_feed_forward_length|expert_shared_count|expert_gating_func";

constexpr Family deepseek_v32 = {
    .name = "deepseek32",
    .gguf = "deepseek32",
    .classes = "DeepseekV32ForCausalLM",
    .model_types = "deepseek_v32",
    .about =
        "like deepseek3, with an indexer in every layer that chooses the tokens to attend to; llama.cpp needs indexer "
        "heads whose width is a multiple of 64",
    .loader_needs = needs,
    .keys = {sizes, mla_rope_keys, expert_keys, own, expert_groups},
    .layer_tensors = {layer, mla_tensors, indexers, leading_feed_forward, experts_behind_dense, choice,
                      deepseek_shared_experts},
    .prediction = {.tensors = nextn_tensors, .runs = true},
    .fixed = fixed,
    .relations = relations,
    .checks = {check_indexer},
    .config = {.fields = "n_routed_experts", .members = members},
    .cache = {.is_latent = true,
              .prediction = PredictionBlocks::uncached,
              .may_lack_prediction = true,
              .indexer = Indexer::every_layer},
};
MU_FAMILY(deepseek_v32);

constexpr Family glm_moe_dsa = {
    .name = "glm-dsa",
    .gguf = "glm-dsa",
    .classes = "GlmMoeDsaForCausalLM",
    .model_types = "glm_moe_dsa",
    .about = "like deepseek32; an indexer may also serve the layers after it",
    .hf_rope_theta = 1e6,
    .loader_needs = "attention.q_lora_rank|attention.key_length_mla|expert_feed_forward_length|expert_shared_count",
    .keys = {glm_sizes, mla_rope_keys, expert_keys, own, expert_groups, types},
    .layer_tensors = {layer, mla_tensors, glm_indexers, leading_feed_forward, experts_behind_dense, choice,
                      deepseek_shared_experts},
    .prediction = {.tensors = glm_block, .runs = true, .sizes = "Ix=0"},
    .fixed = glm_fixed,
    .relations = relations,
    .checks = {check_indexer},
    .config = {.fields = "n_routed_experts", .members = members, .describe = gather_rope},
    .cache = {.is_latent = true,
              .prediction = PredictionBlocks::uncached,
              .may_lack_prediction = true,
              .indexer = Indexer::listed},
};
MU_FAMILY(glm_moe_dsa);

}  // namespace modelutils::arch::families::deepseek32
