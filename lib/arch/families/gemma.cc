// Gemma 1 to 3: norms stored minus one, the embedding as the output head. Sliding windows and softcaps from Gemma 2 on.
#include <fmt/core.h>

#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "arch/layer_kinds.h"

namespace modelutils::arch::families::gemma {

constexpr auto sizes = decoder_sizes({.epsilon = "1e-6", .head_dim = "256"});
constexpr auto gemma3_sizes = decoder_sizes({.context = "131072", .epsilon = "1e-6", .head_dim = "256"});

constexpr Key window = sliding_window("4096", Missing::warn);

// Gemma 2 always has softcaps; Gemma 3 only if config.json states one.
constexpr Key gemma2_keys[] = {
    window,
    {.name = "attn_logit_softcapping",
     .type = KeyType::f32,
     .fields = "attn_logit_softcapping",
     .fallback = "50",
     .missing = Missing::assume},
    {.name = "final_logit_softcapping",
     .type = KeyType::f32,
     .fields = "final_logit_softcapping",
     .fallback = "30",
     .missing = Missing::assume},
};

static Status check_local_scaling(KeyWriter& out) {
  if (!out.config().rope.scaling_local) return {};
  return out.refuse("rope_parameters.sliding_attention",
                    "scales the rope of sliding layers, which a GGUF cannot express");
}
constexpr Key gemma3_keys[] = {
    window,
    window_pattern<6>,
    {.name = "final_logit_softcapping", .type = KeyType::f32, .fields = "final_logit_softcapping"},
};

// The attention scale is 1 / sqrt(D), except for the 27B models (recognised by their layer count), where it is 1 /
// sqrt(E / H).
static Status check_scale(KeyWriter& out, u64 layers_of_27b) {
  const std::optional<double> stated = out.config().number_field("query_pre_attn_scalar");
  if (!stated) return {};
  const bool is_27b = out.size("L") == layers_of_27b;
  const u64 fixed = is_27b ? out.size("E") / out.size("H") : out.size("D");
  if (*stated != static_cast<double>(fixed)) {
    out.warn("query_pre_attn_scalar", fmt::format("is {}; llama.cpp computes with {}", *stated, fixed));
  }
  return {};
}
// mlx-lm's class for Gemma 2 has no windows.
static Status check_gemma2(KeyWriter& out) {
  MU_TRY(check_window_order(out, 2));
  const u64 width = out.config().sliding_window.value_or(4096);
  if (out.is_mlx() && width < context_or_default(out)) {
    out.warn("sliding_window", fmt::format("is {}, which llama.cpp and the model's own class apply, but mlx-lm does "
                                           "not: texts longer than the window give different results there",
                                           width));
  }
  return check_scale(out, 46);
}
static Status check_gemma3_scale(KeyWriter& out) {
  return check_scale(out, 62);
}

constexpr Tensor shifted_attention[] = {
    {"attn_norm", "E", "input_layernorm@add_one"},
    {"attn_q", "E,H*D", "self_attn.q_proj"},
    {"attn_k", "E,K*D", "self_attn.k_proj"},
    {"attn_v", "E,K*D", "self_attn.v_proj"},
};
constexpr Tensor shifted_qk_norms[] = {
    {"attn_q_norm", "D", "self_attn.q_norm@add_one"},
    {"attn_k_norm", "D", "self_attn.k_norm@add_one"},
};
constexpr Tensor two_norms[] = {
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"ffn_norm", "E", "post_attention_layernorm@add_one"},
};
constexpr Tensor four_norms[] = {
    {"attn_output", "H*D,E", "self_attn.o_proj"},
    {"post_attention_norm", "E", "post_attention_layernorm@add_one"},
    {"ffn_norm", "E", "pre_feedforward_layernorm@add_one"},
};
constexpr Tensor last_norm[] = {{"post_ffw_norm", "E", "post_feedforward_layernorm@add_one"}};
constexpr Tensor ends[] = {
    {"output_norm", "E", "model.norm@add_one"},
    {"output", "E,V", "lm_head"},
};
constexpr Fixed fixed[] = {rotates_halves, sees_what_precedes};
// The first Gemma configs say "gelu" for the tanh form.
constexpr std::string_view gelus = "gelu_pytorch_tanh|gelu|gelu_new|gelu_fast";
static void set_scale(ConfigWriter& out, u64 layers_of_27b) {
  const bool is_27b = out.size("L") == layers_of_27b && out.size("H") > 0;
  out.set("query_pre_attn_scalar", is_27b ? out.size("E") / out.size("H") : out.size("D"));
}
static Status describe_gemma2(ConfigWriter& out) {
  set_scale(out, 46);
  return {};
}
static Status describe_gemma3(ConfigWriter& out) {
  set_scale(out, 62);
  return {};
}

constexpr Family gemma = {
    .name = "gemma",
    .gguf = "gemma",
    .classes = "GemmaForCausalLM",
    .model_types = "gemma",
    .activation = "gelu_pytorch_tanh",
    .activation_names = gelus,
    .head = OutputHead::never,
    .tied_by_default = true,
    .mlx_scales_rope = false,
    .keys = {sizes, rope_keys},
    .layer_tensors = {shifted_attention, two_norms, gated_feed_forward},
    .last_tensors = ends,
    .fixed = fixed,
    .checks = {warn_of_windows},
    .config = {.fields = "hidden_act|hidden_activation", .members = {{"attention_bias", "false"}}},
    .tokenizer = {.never_prefixes_space = true, .infills_by_text = true},
};
MU_FAMILY(gemma);

constexpr Family gemma2 = {
    .name = "gemma2",
    .gguf = "gemma2",
    .classes = "Gemma2ForCausalLM",
    .model_types = "gemma2",
    .activation = "gelu_pytorch_tanh",
    .activation_names = gelus,
    .head = OutputHead::never,
    .tied_by_default = true,
    .mlx_scales_rope = false,
    .keys = {sizes, rope_keys, gemma2_keys},
    .layer_tensors = {shifted_attention, four_norms, gated_feed_forward, last_norm},
    .last_tensors = ends,
    .layer_counts = "46",
    .fixed = fixed,
    .checks = {check_gemma2},
    .config = {.fields = "hidden_act|hidden_activation",
               .members = {{"attention_bias", "false"}},
               .describe = describe_gemma2},
    .cache = {.windows = {.rule = Windows::Rule::period, .period = 2, .always = true, .missing = 4096}},
    .tokenizer = {.never_prefixes_space = true, .infills_by_text = true},
};
MU_FAMILY(gemma2);

constexpr Family gemma3 = {
    .name = "gemma3",
    .gguf = "gemma3",
    .classes = "Gemma3ForCausalLM|Gemma3ForConditionalGeneration",
    .model_types = "gemma3_text|gemma3",
    .activation = "gelu_pytorch_tanh",
    .activation_names = gelus,
    .tied_by_default = true,
    .class_has_defaults = true,
    .hf_rope_theta = 1e6,
    .keys = {gemma3_sizes, rope_keys, gemma3_keys},
    .layer_tensors = {shifted_attention, shifted_qk_norms, four_norms, gated_feed_forward, last_norm},
    .last_tensors = ends,
    .layer_counts = "62",
    .fixed = fixed,
    .checks = {check_local_scaling, check_gemma3_scale},
    .config = {.fields = "hidden_act|hidden_activation|rope_local_base_freq|sliding_window_pattern",
               .members = {{"attention_bias", "false"}},
               .describe = describe_gemma3},
    .cache = {.windows = {.rule = Windows::Rule::period, .period = 6}},
    .engine = {.rope_layout = "split", .has_qk_norms = true, .has_post_norms = true, .is_gemma = true},
    .tokenizer = {.never_prefixes_space = true, .infills_by_text = true},
};
MU_FAMILY(gemma3);

// EmbeddingGemma: a Gemma 3 that sees the whole text, and up to two dense layers after the pooling. A file whose layers
// all slide makes llama.cpp abort.
constexpr Key embedding_keys[] = {
    sliding_window("512", Missing::warn, Need::required),
    window_pattern<6>,
    {.name = "attention.causal", .type = KeyType::flag, .fallback = "false", .missing = Missing::assume},
    {.name = "dense_2_feat_in", .fallback = "E", .missing = Missing::assume, .when = "Q"},
    {.name = "dense_2_feat_out", .symbol = "Q", .when = "Q"},
    {.name = "dense_3_feat_in", .symbol = "Qi", .when = "Qi"},
    {.name = "dense_3_feat_out", .fallback = "E", .missing = Missing::assume, .when = "Qi"},
};
constexpr Tensor embedding_ends[] = {
    {"output_norm", "E", "model.norm@add_one"},
    {"dense_2", "E,Q", "2_Dense.linear", Need::optional},
    {"dense_3", "Qi,E", "3_Dense.linear", Need::optional},
};
static Status check_embedding(KeyWriter& out) {
  if (out.size("Q") != 0 && out.size("Q") != (out.size("Qi") != 0 ? out.size("Qi") : out.size("E"))) {
    return out.refuse("modules.json", "names dense layers whose widths do not fit each other");
  }
  if (window_period(out, 6) > out.size("L")) {
    return out.refuse("layer_types", "has no layer with full attention, without which llama.cpp aborts");
  }
  return check_local_scaling(out);
}
static Status describe_embedding(ConfigWriter& out) {
  out.set("use_bidirectional_attention", true);
  set_scale(out, 62);
  return {};
}

constexpr Family gemma_embedding = {
    .name = "gemma-embedding",
    .gguf = "gemma-embedding",
    .classes = "Gemma3TextModel",
    .model_types = "embedding_gemma",
    .about = "a Gemma 3 that sees the whole text; dense layers behind the pooling",
    .left_out = "lm_head.",
    .activation = "gelu_pytorch_tanh",
    .activation_names = gelus,
    .head = OutputHead::never,
    .class_has_defaults = true,
    .hf_rope_theta = 1e6,
    .keys = {gemma3_sizes, rope_keys, embedding_keys},
    .layer_tensors = {shifted_attention, shifted_qk_norms, four_norms, gated_feed_forward, last_norm},
    .last_tensors = embedding_ends,
    .fixed = {rotates_halves,
              {"use_bidirectional_attention", "true", Severity::error,
               "llama.cpp computes attention over the whole text for this architecture"}},
    .checks = {check_embedding, check_gemma3_scale},
    .config = {.fields = "hidden_act|hidden_activation|rope_local_base_freq|sliding_window_pattern",
               .members = {{"attention_bias", "false"}},
               .describe = describe_embedding,
               .model_type = "gemma3_text"},
    .cache = {.has_cache = false, .windows = {.rule = Windows::Rule::period, .period = 6}},
    .tokenizer = {.never_prefixes_space = true, .infills_by_text = true},
};
MU_FAMILY(gemma_embedding);

}  // namespace modelutils::arch::families::gemma
