// Qwen4-Exp: gated delta nets, in some layers gated attention with an indexer; parallel residual streams whose mixing
// replaces the norms; experts with a gated shared one.
#include <fmt/core.h>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"
#include "arch/rope.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::qwen4exp {

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "131072", .epsilon = "1e-6"});
  named(keys, "feed_forward_length").fields = {};  // there is no dense part
  // The counts are the same in all layers with attention.
  named(keys, "attention.head_count").type = named(keys, "attention.head_count_kv").type = KeyType::u32;
  return keys;
}();
constexpr auto rope = with_sections(partial_rope_keys_of("D/4"));

static std::vector<u64> recurrent_layers(const hf::Config& config, const Sizes&) {
  return in_layers(kinds_of_layers(config, "layer_types"), {"linear_attention"}, 1);
}
static Status write_recurrent(KeyWriter& out, const Key& key) {
  std::vector<bool> flags;
  for (u64 i = 0; i < out.size("L"); ++i) flags.push_back(out.sizes().get(key.symbol, i) > 0);
  out.flags(key.name, flags);
  return {};
}
static Status read_recurrent(ConfigWriter& out, const Key& key) {
  std::vector<std::string_view> kinds;
  for (u64 i = 0; i < out.size("L"); ++i) {
    kinds.emplace_back(out.sizes().get(key.symbol, i) > 0 ? "linear_attention" : "full_attention");
  }
  out.set("layer_types", hf::config_list(kinds));
  return {};
}
static Status write_ratios(KeyWriter& out, const Key& key) {
  const std::optional<u64> ratio = out.config().u64_field("indexer_compress_ratio");
  if (!ratio) return out.refuse("indexer_compress_ratio", "is missing, but llama.cpp requires it");
  std::vector<u64> ratios;
  for (u64 i = 0; i < out.size("L"); ++i) ratios.push_back(out.sizes().get("Rc", i) > 0 ? 0 : *ratio);
  return out.counts(key.name, ratios);
}
static Status read_ratios(ConfigWriter& out, const Key& key) {
  MU_ASSIGN(const std::vector<u64> ratios, out.counts(key.name));
  u64 found = 0;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    if (out.sizes().get("Rc", i) > 0) continue;
    if (found != 0 && ratios[i] != found) {
      return out.refuse(key.name, "differs between layers with attention, but config.json has one number");
    }
    found = ratios[i];
  }
  out.set("indexer_compress_ratio", found);
  return {};
}
constexpr Key delta_net[] = {
    {.name = "ssm.conv_kernel", .fields = "linear_conv_kernel_dim", .symbol = "C", .need = Need::required},
    {.name = "ssm.inner_size", .symbol = "I", .fallback = "S*Hv", .need = Need::required},
    {.name = "ssm.state_size", .fields = "linear_key_head_dim", .symbol = "S", .need = Need::required},
    {.name = "ssm.time_step_rank", .fields = "linear_num_value_heads", .symbol = "Hv", .need = Need::required},
    {.name = "ssm.group_count", .fields = "linear_num_key_heads", .symbol = "G", .need = Need::required},
    {.name = "attention.recurrent_layers",
     .type = KeyType::flag_layers,
     .symbol = "Rc",
     .fallback = "1",
     .loader_default = "0<((i+1)%Fi)",
     .derive_layers = recurrent_layers,
     .write = write_recurrent,
     .read = read_recurrent},
    {.name = "full_attention_interval",
     .fields = "full_attention_interval",
     .symbol = "Fi",
     .fallback = "4",
     .loader_default = "4"},
};
constexpr Key own[] = {
    expert_width,
    {.name = "expert_shared_feed_forward_length", .fields = "shared_expert_intermediate_size", .symbol = "Fs"},
    {.name = "hyper_connection.count", .fields = "hc_count", .symbol = "Hc", .need = Need::required},
    {.name = "hyper_connection.low_rank", .fields = "hc_lowrank", .symbol = "Hr", .need = Need::required},
    {.name = "attention.indexer.head_count", .fields = "indexer_n_heads", .symbol = "Hi", .need = Need::required},
    {.name = "attention.indexer.key_length", .fields = "indexer_head_dim", .symbol = "Di", .need = Need::required},
    {.name = "attention.indexer.top_k", .fields = "indexer_budget", .missing = Missing::refuse, .need = Need::required},
    {.name = "attention.compress_ratios", .type = KeyType::u32_list, .write = write_ratios, .read = read_ratios},
};

constexpr std::string_view attention_layers = "!Rc", delta_layers = "Rc";
constexpr Tensor mixing[] = {
    {"hc_attn_norm", "Hc*E", "attn_hyper_connection.hc_norm@add_one"},
    {"hc_attn_down", "Hc*E,Hr", "attn_hyper_connection.input_mix_weight_down"},
    {"hc_attn_up", "Hr,Hc*E", "attn_hyper_connection.input_mix_weight_up"},
    {"hc_attn_inject", "Hc*E,Hc", "attn_hyper_connection.block_inject_weight"},
    {"hc_ffn_norm", "Hc*E", "mlp_hyper_connection.hc_norm@add_one"},
    {"hc_ffn_down", "Hc*E,Hr", "mlp_hyper_connection.input_mix_weight_down"},
    {"hc_ffn_up", "Hr,Hc*E", "mlp_hyper_connection.input_mix_weight_up"},
    {"hc_ffn_inject", "Hc*E,Hc", "mlp_hyper_connection.block_inject_weight"},
};
constexpr Tensor attention_rows[] = {
    {.name = "attn_q", .ne = "E,2*H*D", .source = "self_attn.q_proj", .when = attention_layers},
    {.name = "attn_k", .ne = "E,K*D", .source = "self_attn.k_proj", .when = attention_layers},
    {.name = "attn_v", .ne = "E,K*D", .source = "self_attn.v_proj", .when = attention_layers},
    {.name = "attn_output", .ne = "H*D,E", .source = "self_attn.o_proj", .when = attention_layers},
    {.name = "attn_q_norm", .ne = "D", .source = "self_attn.q_norm@add_one", .when = attention_layers},
    {.name = "attn_k_norm", .ne = "D", .source = "self_attn.k_norm@add_one", .when = attention_layers},
    {.name = "indexer.q_proj",
     .ne = "E,Hi*Di",
     .source = "self_attn.indexer.index_qk_proj{h:Hi+1 Di -> h[0:Hi] Di}",
     .when = attention_layers},
    {.name = "indexer.k_proj",
     .ne = "E,Di",
     .source = "self_attn.indexer.index_qk_proj{h:Hi+1 Di -> h=Hi Di}",
     .when = attention_layers},
    {.name = "indexer.q_norm", .ne = "Di", .source = "self_attn.indexer.q_layernorm@add_one", .when = attention_layers},
    {.name = "indexer.k_norm", .ne = "Di", .source = "self_attn.indexer.k_layernorm@add_one", .when = attention_layers},
};
// llama.cpp repeats the G query and key heads as a block, the class repeats each head. So value heads are reordered.
constexpr Tensor delta_rows[] = {
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
     .stored = "2*G*S+Hv*S,1,C"},
    {.name = "@ssm_dt.bias", .ne = "Hv", .source = "linear_attn.dt_bias{k:G r:Hv/G -> r k}", .when = delta_layers},
    {.name = "@ssm_a", .ne = "Hv", .source = "linear_attn.A_log{k:G r:Hv/G -> r k}@neg_exp", .when = delta_layers},
    {.name = "ssm_beta", .ne = "E,Hv", .source = "linear_attn.in_proj_b{k:G r:Hv/G -> r k}", .when = delta_layers},
    {.name = "ssm_alpha", .ne = "E,Hv", .source = "linear_attn.in_proj_a{k:G r:Hv/G -> r k}", .when = delta_layers},
    {.name = "ssm_norm", .ne = "S", .source = "linear_attn.norm", .when = delta_layers},
    {.name = "ssm_out",
     .ne = "Hv*S,E",
     .source = "linear_attn.out_proj{{E k:G r:Hv/G S -> E r k S}}",
     .when = delta_layers,
     .stored = "E,Hv*S"},
};
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "mlp.gate", .f32 = true},
    {.name = "ffn_gate_exps",
     .ne = "E,Fx,X",
     .source = "mlp.experts.gate_up_proj{X t:2 Fx -> X t=0 Fx} | mlp.experts.#.gate_proj",
     .stored = "X,2*Fx,E"},
    {.name = "ffn_up_exps",
     .ne = "E,Fx,X",
     .source = "mlp.experts.gate_up_proj{X t:2 Fx -> X t=1 Fx} | mlp.experts.#.up_proj",
     .stored = "X,2*Fx,E"},
    {"ffn_down_exps", "Fx,E,X", "mlp.experts.down_proj | mlp.experts.#.down_proj"},
    {.name = "ffn_gate_inp_shexp", .ne = "E,1", .source = "mlp.shared_expert_gate", .f32 = true, .stored = "1,E"},
    {"ffn_gate_shexp", "E,Fs", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "E,Fs", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "Fs,E", "mlp.shared_expert.down_proj"},
};
constexpr Tensor last[] = {
    {"output_hc_norm", "Hc*E", "model.hyper_connection_mixer.hc_norm@add_one"},
    {"output_hc_down", "Hc*E,Hr", "model.hyper_connection_mixer.input_mix_weight_down"},
    {"output_hc_up", "Hr,Hc*E", "model.hyper_connection_mixer.input_mix_weight_up"},
    {"output", "E,V", "lm_head"},
};

constexpr Fixed fixed[] = {
    rotates_halves,
    {"attention_bias", "false", Severity::error, "llama.cpp has no biases here"},
    {"attn_output_gate", "true", Severity::error, "llama.cpp gates the output of every attention"},
    {"ple_layer_ids", "[]", Severity::error, "n-gram tables cannot be converted"},
    normalises_weights,
};
// llama.cpp has a single size for key and value heads.
static Status check_value_heads(KeyWriter& out) {
  const auto stated = out.config().u64_field("linear_value_head_dim");
  if (!stated || *stated == out.size("S")) return {};
  return out.refuse("linear_value_head_dim", "is not linear_key_head_dim; llama.cpp has one size for both");
}
static Status describe(ConfigWriter& out) {
  out.assume("rope_scaling.mrope_interleaved", true);
  gather_rope_parameters(out);
  return {};
}

constexpr Family qwen4exp = {
    .name = "qwen4exp",
    .gguf = "qwen4exp",
    .classes = "Qwen4ExpForConditionalGeneration|Qwen4ExpForCausalLM",
    .model_types = "qwen4_exp|qwen4_exp_text",
    .about =
        "gated delta nets, in some layers gated attention with an indexer; mixed residual streams in place of "
        "norms; the text part, without n-gram tables",
    .keys = {sizes, rope, delta_net, expert_keys, own},
    .layer_tensors = {mixing, attention_rows, delta_rows, experts},
    .last_tensors = last,
    .renormalises_experts = true,
    .fixed = fixed,
    .checks = {check_value_heads},
    .config = {.fields = "num_experts",
               .members = {{"linear_value_head_dim", "=I/Hv"}, {"attn_output_gate", "true"}},
               .describe = describe,
               .text_model_type = "qwen4_exp_text",
               .hf_text_prefix = "language_model.model."},
    .cache = {.recurrence = {.layers = Recurrence::Layers::listed,
                             .state = Recurrence::State::convolution,
                             .interval = 4,
                             .keeps_history = true},
              .indexer = Indexer::with_keys,
              .has_gated_queries = true},
    .tokenizer = {.composes = true},
};
MU_FAMILY(qwen4exp);

}  // namespace modelutils::arch::families::qwen4exp
