// Qwen3-Next and Qwen3.5: gated delta nets, and every few layers gated attention with partial rotation.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/prediction_rows.h"
#include "arch/rope.h"

namespace modelutils::arch::families::qwen3next {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "131072", .epsilon = "1e-6"});
  // The count is the same in all layers with attention.
  named(keys, "attention.head_count").type = named(keys, "attention.head_count_kv").type = KeyType::u32;
  return keys;
}();
constexpr auto mixture_sizes = [] {
  auto keys = sizes;
  named(keys, "feed_forward_length").fallback = "Fx*U";  // the dense width; a mixture model has no tensor of this width
  return keys;
}();
constexpr auto rope = partial_rope_keys_of("D/4");
constexpr auto sectioned_rope = with_sections(rope);

// Every n-th layer has attention. Returns n, which is the position of the first such layer, counted from 1.
static std::optional<u64> attention_period(const hf::Config& config, const Sizes&) {
  for (std::size_t i = 0; i < config.layer_types.size(); ++i) {
    if (config.layer_types[i] == "full_attention") return i + 1;
  }
  return std::nullopt;
}
constexpr Key delta_net[] = {
    {.name = "ssm.conv_kernel", .fields = "linear_conv_kernel_dim", .symbol = "C", .need = Need::required},
    {.name = "ssm.inner_size", .symbol = "I", .fallback = "S*Hv", .need = Need::required},
    {.name = "ssm.state_size", .fields = "linear_key_head_dim", .symbol = "S", .need = Need::required},
    {.name = "ssm.time_step_rank", .fields = "linear_num_value_heads", .symbol = "Hv", .need = Need::required},
    {.name = "ssm.group_count", .fields = "linear_num_key_heads", .symbol = "G", .need = Need::required},
    {.name = "full_attention_interval",
     .fields = "full_attention_interval",
     .symbol = "Fi",
     .fallback = "4",
     .loader_default = "4",
     .derive = attention_period},
};
constexpr Key mixture[] = {
    expert_width,
    {.name = "expert_shared_feed_forward_length",
     .fields = "shared_expert_intermediate_size",
     .symbol = "Fs",
     .loader_default = "F"},
};

constexpr std::string_view attention_layers = "!((i+1)%Fi)";
constexpr std::string_view delta_layers = "(i+1)%Fi";

constexpr Tensor mixer[] = {
    {"attn_norm", "E", "[mlx] input_layernorm | input_layernorm@add_one"},
    {.name = "attn_q", .ne = "E,2*H*D", .source = "self_attn.q_proj", .when = attention_layers},
    {.name = "attn_k", .ne = "E,K*D", .source = "self_attn.k_proj", .when = attention_layers},
    {.name = "attn_v", .ne = "E,K*D", .source = "self_attn.v_proj", .when = attention_layers},
    {.name = "attn_output", .ne = "H*D,E", .source = "self_attn.o_proj", .when = attention_layers},
    {.name = "attn_q_norm",
     .ne = "D",
     .source = "[mlx] self_attn.q_norm | self_attn.q_norm@add_one",
     .when = attention_layers},
    {.name = "attn_k_norm",
     .ne = "D",
     .source = "[mlx] self_attn.k_norm | self_attn.k_norm@add_one",
     .when = attention_layers},
    {.name = "ssm_norm", .ne = "S", .source = "linear_attn.norm", .when = delta_layers},
    {"post_attention_norm", "E", "[mlx] post_attention_layernorm | post_attention_layernorm@add_one"},
};

// In directories each group has its queries, keys, values and gates together.
constexpr Tensor grouped_delta_net[] = {
    {.name = "attn_qkv",
     .ne = "E,2*G*S+Hv*S",
     .source = "linear_attn.in_proj_qkvz{G s:(2+2*Hv/G)*S -> G s[0:S]} + "
               "linear_attn.in_proj_qkvz{G s:(2+2*Hv/G)*S -> G s[S:2*S]} + "
               "linear_attn.in_proj_qkvz{G s:(2+2*Hv/G)*S -> G s[2*S:(2+Hv/G)*S]}",
     .when = delta_layers},
    {.name = "attn_gate",
     .ne = "E,Hv*S",
     .source = "linear_attn.in_proj_qkvz{G s:(2+2*Hv/G)*S -> G s[(2+Hv/G)*S:(2+2*Hv/G)*S]}",
     .when = delta_layers},
    {.name = "ssm_conv1d",
     .ne = "C,2*G*S+Hv*S",
     .source = "linear_attn.conv1d",
     .when = delta_layers,
     .f32 = true,
     .stored = "[mlx] 2*G*S+Hv*S,C,1 | 2*G*S+Hv*S,1,C"},
    {.name = "@ssm_dt.bias", .ne = "Hv", .source = "linear_attn.dt_bias", .when = delta_layers},
    {.name = "@ssm_a", .ne = "Hv", .source = "linear_attn.A_log@neg_exp", .when = delta_layers},
    {.name = "ssm_ba", .ne = "E,2*Hv", .source = "linear_attn.in_proj_ba", .when = delta_layers},
    {.name = "ssm_out", .ne = "Hv*S,E", .source = "linear_attn.out_proj", .when = delta_layers},
};

// llama.cpp repeats the G query and key heads as a block, the classes repeat each head. So value heads are reordered.
constexpr Tensor tiled_delta_net[] = {
    {.name = "attn_qkv",
     .ne = "E,2*G*S+Hv*S",
     .source = "linear_attn.in_proj_qkv{h:2*G+Hv S -> h[0:2*G] S} + "
               "linear_attn.in_proj_qkv{skip:2*G*S k:G r:Hv/G S -> r k S}",
     .when = delta_layers},
    {.name = "attn_gate",
     .ne = "E,Hv*S",
     .source = "linear_attn.in_proj_z{k:G r:Hv/G S -> r k S}",
     .when = delta_layers},
    {.name = "ssm_conv1d",
     .ne = "C,2*G*S+Hv*S",
     .source = "linear_attn.conv1d{h:2*G+Hv S -> h[0:2*G] S} + linear_attn.conv1d{skip:2*G*S k:G r:Hv/G S -> r k S}",
     .when = delta_layers,
     .f32 = true,
     .stored = "[mlx] 2*G*S+Hv*S,C,1 | 2*G*S+Hv*S,1,C"},
    {.name = "@ssm_dt.bias", .ne = "Hv", .source = "linear_attn.dt_bias{k:G r:Hv/G -> r k}", .when = delta_layers},
    {.name = "@ssm_a", .ne = "Hv", .source = "linear_attn.A_log{k:G r:Hv/G -> r k}@neg_exp", .when = delta_layers},
    {.name = "ssm_beta", .ne = "E,Hv", .source = "linear_attn.in_proj_b{k:G r:Hv/G -> r k}", .when = delta_layers},
    {.name = "ssm_alpha", .ne = "E,Hv", .source = "linear_attn.in_proj_a{k:G r:Hv/G -> r k}", .when = delta_layers},
    {.name = "ssm_out",
     .ne = "Hv*S,E",
     .source = "linear_attn.out_proj{{E k:G r:Hv/G S -> E r k S}}",
     .when = delta_layers,
     .stored = "E,Hv*S"},
};

constexpr Tensor shared_expert[] = {
    {.name = "ffn_gate_inp_shexp", .ne = "E", .source = "mlp.shared_expert_gate", .stored = "1,E"},
    {"ffn_gate_shexp", "E,Fs", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "E,Fs", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "Fs,E", "mlp.shared_expert.down_proj"},
};
constexpr Tensor ends[] = {
    {"output_norm", "E", "[mlx] model.norm | model.norm@add_one"},
    {"output", "E,V", "lm_head"},
};

constexpr Fixed fixed[] = {
    rotates_halves,
    {"attention_bias", "false", Severity::error, "llama.cpp has no biases here"},
    {"attn_output_gate", "true", Severity::error, "llama.cpp gates the output of every attention"},
};
constexpr Fixed mixture_fixed[] = {
    rotates_halves,
    experts_in_each,
    experts_in_all,
    named(fixed, "attention_bias"),
    named(fixed, "attn_output_gate"),
    normalises_weights,
};
// llama.cpp has a single size for key and value heads.
static Status check_value_heads(KeyWriter& out) {
  const auto stated = out.config().u64_field("linear_value_head_dim");
  if (!stated || *stated == out.size("S")) return {};
  return out.refuse("linear_value_head_dim", "is not linear_key_head_dim; llama.cpp has one size for both");
}
constexpr CacheFacts qwen35_cache = {.recurrence = {.layers = Recurrence::Layers::listed,
                                                    .state = Recurrence::State::convolution,
                                                    .interval = 4,
                                                    .keeps_history = true},
                                     .prediction = PredictionBlocks::uncached,
                                     .has_gated_queries = true};
static Status describe_sections(ConfigWriter& out) {
  std::vector<std::string_view> kinds;
  const u64 interval = out.size("Fi");
  for (u64 i = 1; i <= out.size("L"); ++i) {
    kinds.emplace_back(interval > 0 && i % interval == 0 ? "full_attention" : "linear_attention");
  }
  out.set("layer_types", hf::config_list(kinds));
  out.assume("rope_scaling.mrope_interleaved", true);
  gather_rope_parameters(out);
  return {};
}

constexpr Family qwen3next = {
    .name = "qwen3next",
    .gguf = "qwen3next",
    .classes = "Qwen3NextForCausalLM",
    .model_types = "qwen3_next",
    .about = "gated delta nets, every fourth layer a gated attention; experts with a shared one",
    .loads_without = "attn_qkv|attn_gate",
    .keys = {mixture_sizes, rope, delta_net, expert_keys, mixture},
    .layer_tensors = {mixer, grouped_delta_net, qwen_experts, shared_expert},
    .last_tensors = ends,
    .prediction = {.tensors = zero_centred_nextn_tensors, .runs = true, .sizes = "Fi=1"},
    .layout_signs = {{"linear_attn.conv1d", Telling::convolution}},
    .renormalises_experts = true,
    .fixed = mixture_fixed,
    .checks = {check_value_heads},
    .config = {.fields = "num_experts", .members = {{"linear_value_head_dim", "=I/Hv"}}},
    .cache = {.recurrence = {.layers = Recurrence::Layers::listed,
                             .state = Recurrence::State::convolution,
                             .interval = 4},
              .prediction = PredictionBlocks::uncached,
              .has_gated_queries = true},
    .tokenizer = {.composes = true},
};
MU_FAMILY(qwen3next);

constexpr Family qwen35 = {
    .name = "qwen35",
    .gguf = "qwen35",
    .classes = "Qwen3_5ForConditionalGeneration|Qwen3_5ForCausalLM",
    .model_types = "qwen3_5|qwen3_5_text",
    .about = "gated delta nets, every fourth layer a gated attention; the text part",
    .mlx_rope_theta = 100000,
    .loads_without = "attn_qkv|attn_gate",
    .keys = {sizes, sectioned_rope, delta_net},
    .layer_tensors = {mixer, tiled_delta_net, gated_feed_forward},
    .last_tensors = ends,
    .prediction = {.tensors = zero_centred_nextn_tensors, .runs = true, .sizes = "Fi=1"},
    .layout_signs = {{"linear_attn.conv1d", Telling::convolution}},
    .fixed = fixed,
    .checks = {check_value_heads},
    .config = {.members = {{"linear_value_head_dim", "=I/Hv"}},
               .describe = describe_sections,
               .text_model_type = "qwen3_5_text"},
    .cache = qwen35_cache,
    .tokenizer = {.composes = true},
};
MU_FAMILY(qwen35);

// Published as stacks, with gate and up in one tensor.
constexpr auto stacked_experts = [] {
  auto rows = routed_experts();
  named(rows, "ffn_gate_exps").source =
      "mlp.switch_mlp.gate_proj | mlp.experts.gate_up_proj{X t:2 Fx -> X t=0 Fx} | mlp.experts.#.gate_proj | "
      "mlp.experts.gate_proj";
  named(rows, "ffn_up_exps").source =
      "mlp.switch_mlp.up_proj | mlp.experts.gate_up_proj{X t:2 Fx -> X t=1 Fx} | mlp.experts.#.up_proj | "
      "mlp.experts.up_proj";
  named(rows, "ffn_down_exps").source = "mlp.switch_mlp.down_proj | mlp.experts.down_proj | mlp.experts.#.down_proj";
  named(rows, "ffn_gate_exps").stored = named(rows, "ffn_up_exps").stored = "[hf] X,2*Fx,E";
  return rows;
}();

constexpr Family qwen35moe = {
    .name = "qwen35moe",
    .gguf = "qwen35moe",
    .classes = "Qwen3_5MoeForConditionalGeneration|Qwen3_5MoeForCausalLM",
    .model_types = "qwen3_5_moe|qwen3_5_moe_text",
    .about = "like qwen35, with experts and a gated shared one",
    .mlx_rope_theta = 100000,
    .loads_without = "attn_qkv|attn_gate",
    .keys = {mixture_sizes, sectioned_rope, delta_net, expert_keys, mixture},
    .layer_tensors = {mixer, tiled_delta_net, stacked_experts, shared_expert},
    .last_tensors = ends,
    .prediction = {.tensors = zero_centred_nextn_tensors, .runs = true, .sizes = "Fi=1"},
    .layout_signs = {{"linear_attn.conv1d", Telling::convolution}},
    .renormalises_experts = true,
    .fixed = mixture_fixed,
    .checks = {check_value_heads},
    .config = {.fields = "num_experts",
               .members = {{"linear_value_head_dim", "=I/Hv"}},
               .describe = describe_sections,
               .text_model_type = "qwen3_5_moe_text"},
    .cache = qwen35_cache,
    .tokenizer = {.composes = true},
};
MU_FAMILY(qwen35moe);

}  // namespace modelutils::arch::families::qwen3next
