// GPT-2 and GPT-BigCode (StarCoder): learned positions, LayerNorm and biases everywhere, Q, K and V in one matrix.
#include "arch/common_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::gpt2 {

// The position embedding has one row per token of the context.
constexpr auto with_positions = [](std::array<Key, 10> keys) {
  named(keys, "context_length") = {.name = "context_length",
                                   .fields = "n_positions|n_ctx|max_position_embeddings",
                                   .symbol = "C",
                                   .missing = Missing::refuse,
                                   .need = Need::required};
  named(keys, "feed_forward_length").fallback = "4*E";
  named(keys, "attention.head_count_kv").fields = {};  // depends only on multi_query
  return keys;
};
constexpr auto sizes = with_positions(decoder_sizes({.epsilon = "1e-5", .layer_norm = true}));
constexpr auto multi_query_sizes = [] {
  auto keys = sizes;
  named(keys, "attention.head_count_kv").derive = [](const hf::Config& config, const Sizes&) {
    return config.bool_field("multi_query").value_or(true) ? std::optional<u64>(1) : std::nullopt;
  };
  return keys;
}();

constexpr Tensor first[] = {
    {"token_embd", "E,V", "[hf] wte | model.wte | transformer.wte | wte"},
    {"position_embd", "E,C", "[hf] wpe | model.wpe | transformer.wpe | wpe"},
};
constexpr Tensor norms[] = {
    {"attn_norm", "E", "ln_1", Need::required, Need::required},
    {"ffn_norm", "E", "ln_2", Need::required, Need::required},
};
// Hugging Face stores GPT-2's matrices transposed.
constexpr Tensor layer[] = {
    {.name = "attn_qkv",
     .ne = "E,H*D+2*K*D",
     .source = "[hf] attn.c_attn{{c:E r:3*H*D -> r c}} | [mlx] attn.c_attn",
     .need = Need::required,
     .bias = Need::required,
     .stored = "[hf] E,3*H*D"},
    {.name = "attn_output",
     .ne = "H*D,E",
     .source = "[hf] attn.c_proj{{c:H*D r:E -> r c}} | [mlx] attn.c_proj",
     .need = Need::required,
     .bias = Need::required,
     .stored = "[hf] H*D,E"},
    {.name = "ffn_up",
     .ne = "E,F",
     .source = "[hf] mlp.c_fc{{c:E r:F -> r c}} | [mlx] mlp.c_fc",
     .need = Need::required,
     .bias = Need::required,
     .stored = "[hf] E,F"},
    {.name = "ffn_down",
     .ne = "F,E",
     .source = "[hf] mlp.c_proj{{c:F r:E -> r c}} | [mlx] mlp.c_proj",
     .need = Need::required,
     .bias = Need::required,
     .stored = "[hf] F,E"},
};
// With several KV heads the original class interleaves them with the queries; MLX's class does not.
constexpr Tensor multi_query_layer[] = {
    {"attn_qkv", "E,H*D+2*K*D", "[hf & K!=1] attn.c_attn{H t:3 D -> t H D} | attn.c_attn", Need::required,
     Need::required},
    {"attn_output", "H*D,E", "attn.c_proj", Need::required, Need::required},
    {"ffn_up", "E,F", "mlp.c_fc", Need::required, Need::required},
    {"ffn_down", "F,E", "mlp.c_proj", Need::required, Need::required},
};
constexpr Tensor last[] = {
    {"output_norm", "E", "[hf] ln_f | model.ln_f | transformer.ln_f | ln_f", Need::required, Need::required},
    {"output", "E,V", "lm_head"},
};
// The GPTBigCode classes prefer the names in the opposite order.
constexpr Tensor multi_query_first[] = {
    {"token_embd", "E,V", "transformer.wte | model.wte | wte"},
    {"position_embd", "E,C", "transformer.wpe | model.wpe | wpe"},
};
constexpr Tensor multi_query_last[] = {
    {"output_norm", "E", "transformer.ln_f | model.ln_f | ln_f", Need::required, Need::required},
    named(last, "output"),
};
constexpr std::string_view gelus = "gelu_new|gelu_pytorch_tanh|gelu_fast|gelu";
constexpr std::string_view computes_gelu = "llama.cpp computes the tanh form of gelu";
constexpr std::string_view needs_biases = "for this architecture llama.cpp needs the biases";
constexpr Fixed fixed[] = {
    {"activation_function", gelus, Severity::error, computes_gelu},
    {"activation_function", "gelu_new|gelu_pytorch_tanh|gelu_fast", Severity::warning, computes_gelu},
    {"scale_attn_weights", "true", Severity::error, "llama.cpp always scales by the size of a head"},
    {"scale_attn_by_inverse_layer_idx", "false", Severity::error, "llama.cpp scales every layer alike"},
    {"attention_bias", "true", Severity::error, needs_biases},
    {"mlp_bias", "true", Severity::error, needs_biases},
};

static Status warn_of_exact_gelu(KeyWriter& out) {
  if (out.is_mlx() && out.config().string_field("activation_function") != "gelu") {
    out.warn("activation_function", "is the tanh form of gelu, as in llama.cpp; mlx-lm computes the exact one");
  }
  return {};
}

static Status describe_queries(ConfigWriter& out) {
  out.set("multi_query", out.size("K") == 1);
  return {};
}

constexpr Family gpt2 = {
    .name = "gpt2",
    .gguf = "gpt2",
    .classes = "GPT2LMHeadModel",
    .model_types = "gpt2",
    .about = "Learned positions; Q, K and V are one matrix. Hugging Face stores every matrix transposed.",
    .layer_prefixes = "model.h.|transformer.h.|h.",
    .hf_layer_prefix = "h.",
    .tied_by_default = true,
    .class_has_defaults = true,
    .keys = {sizes},
    .layer_tensors = {norms, layer},
    .first_tensors = first,
    .last_tensors = last,
    .layout_signs = {{"attn.c_attn", Telling::tall_matrix}},
    .fixed = fixed,
    .relations = {whole_width},
    .config = {.fields = "n_embd|n_head|n_layer|n_positions|n_inner|layer_norm_epsilon", .members = {{"n_ctx", "=C"}}},
    .tokenizer = {.pre_of_merges = "gpt2=gpt-2"},
};
MU_FAMILY(gpt2);

constexpr Family gpt_bigcode = {
    .name = "gpt_bigcode",
    .gguf = "starcoder",
    .classes = "GPTBigCodeForCausalLM",
    .model_types = "gpt_bigcode",
    .about = "Learned positions; all queries share one key and value head.",
    .layer_prefixes = "transformer.h.|model.h.|h.",
    .tied_by_default = true,
    .class_has_defaults = true,
    .keys = {multi_query_sizes},
    .layer_tensors = {norms, multi_query_layer},
    .first_tensors = multi_query_first,
    .last_tensors = multi_query_last,
    .fixed = fixed,
    .relations = {whole_width},
    .checks = {warn_of_exact_gelu},
    .config = {.fields = "n_embd|n_head|n_layer|n_positions|n_inner|layer_norm_epsilon", .describe = describe_queries},
};
MU_FAMILY(gpt_bigcode);

}  // namespace modelutils::arch::families::gpt2
