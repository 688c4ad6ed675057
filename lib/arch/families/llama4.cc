// Llama 4: adjacent pairs in every format, no rope in every fourth layer, router weights scale the experts' input.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::llama4 {

constexpr std::string_view with_experts = "(i+1)%St==0";
constexpr std::string_view without_experts = "(i+1)%St";

constexpr auto sizes = [] {
  auto keys = decoder_sizes({.context = "131072"});
  named(keys, "feed_forward_length").fields = "intermediate_size_mlp";
  named(keys, "feed_forward_length").fallback = "Fx";
  return keys;
}();
constexpr Key own[] = {
    {.name = "expert_feed_forward_length", .fields = "intermediate_size", .symbol = "Fx", .need = Need::required},
    {.name = "interleave_moe_layer_step",
     .fields = "interleave_moe_layer_step",
     .symbol = "St",
     .fallback = "1",
     .need = Need::required},
};
constexpr auto dense = [] {
  auto rows = feed_forward_of(without_experts);
  named(rows, "ffn_gate").source = "feed_forward.gate_proj";
  named(rows, "ffn_up").source = "feed_forward.up_proj";
  named(rows, "ffn_down").source = "feed_forward.down_proj";
  return rows;
}();
// The original checkpoint stores experts transposed (inputs × outputs).
constexpr Tensor experts[] = {
    {.name = "ffn_gate_inp", .ne = "E,X", .source = "feed_forward.router", .when = with_experts, .f32 = true},
    {.name = "ffn_gate_exps",
     .ne = "E,Fx,X",
     .source = "[mlx] feed_forward.experts.gate_proj | "
               "feed_forward.experts.gate_up_proj{{X E t:2 Fx -> X t=0 Fx E}}",
     .when = with_experts,
     .stored = "[hf] X,E,2*Fx"},
    {.name = "ffn_up_exps",
     .ne = "E,Fx,X",
     .source = "[mlx] feed_forward.experts.up_proj | "
               "feed_forward.experts.gate_up_proj{{X E t:2 Fx -> X t=1 Fx E}}",
     .when = with_experts,
     .stored = "[hf] X,E,2*Fx"},
    {.name = "ffn_down_exps",
     .ne = "Fx,E,X",
     .source = "[mlx] feed_forward.experts.down_proj | [hf] feed_forward.experts.down_proj{{X Fx E -> X E Fx}}",
     .when = with_experts,
     .stored = "[hf] X,Fx,E"},
    {.name = "ffn_gate_shexp", .ne = "E,Fx", .source = "feed_forward.shared_expert.gate_proj", .when = with_experts},
    {.name = "ffn_up_shexp", .ne = "E,Fx", .source = "feed_forward.shared_expert.up_proj", .when = with_experts},
    {.name = "ffn_down_shexp", .ne = "Fx,E", .source = "feed_forward.shared_expert.down_proj", .when = with_experts},
};
constexpr Fixed fixed[] = {
    {"use_qk_norm", "true", Severity::error, "llama.cpp normalises queries and keys unless there are 128 experts",
     "X!=128"},
    {"use_qk_norm", "false", Severity::error,
     "llama.cpp does not normalise queries and keys where there are 128 experts", "X==128"},
    {"attention_chunk_size", "8192", Severity::warning, "llama.cpp uses 8192: longer texts give other results"},
    {"floor_scale", "8192", Severity::warning, "llama.cpp uses 8192: longer texts give other results"},
    {"attn_scale", "0.1", Severity::warning, "llama.cpp uses 0.1: texts of more than 8192 tokens give other results"},
};
static Status check_experts(KeyWriter& out) {
  if (out.size(symbol::experts) > 0) return {};
  return out.refuse("num_local_experts", "is 0; for this architecture llama.cpp requires experts");
}
constexpr Member members[] = {
    {"attention_bias", "@attn_q.bias"},
    {"attn_temperature_tuning", "4"},
    {"rope_scaling", "null"},
};

constexpr Family llama4 = {
    .name = "llama4",
    .gguf = "llama4",
    .classes = "Llama4ForConditionalGeneration|Llama4ForCausalLM",
    .model_types = "llama4|llama4_text",
    .about = "no rope in every fourth layer, chunked attention in the others, a shared expert, top-1 by sigmoid",
    .hf_rope_theta = 500000,
    .keys = {sizes, rope_keys, expert_keys, own},
    .layer_tensors = {attention_maybe_with_biases, attention_output, dense, experts},
    .first_tensors = embedding_and_llama3,
    .layout_signs = {{"feed_forward.experts.gate_proj", Telling::name_of_mlx},
                     {"feed_forward.experts.gate_up_proj", Telling::published_name}},
    .renormalises_experts = true,
    .unrotated_every = 4,
    .fixed = fixed,
    .checks = {check_experts},
    .config = {.members = members, .text_model_type = "llama4_text", .hf_text_prefix = "language_model.model."},
    .cache = {.windows = {.rule = Windows::Rule::period, .period = 4, .missing = 8192, .fixed = 8192}},
};
MU_FAMILY(llama4);

}  // namespace modelutils::arch::families::llama4
