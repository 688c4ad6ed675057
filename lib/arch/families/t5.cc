// T5, mT5, UMT5 and their encoders: two stacks of layers, a bias by distance in place of positions, scores that are not
// scaled by the size of a head.
#include <fmt/core.h>

#include <string_view>

#include "arch/common_rows.h"
#include "arch/config_writer.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"
#include "formats/hf/config.h"

namespace modelutils::arch::families::t5 {

constexpr Key sizes[] = {
    {.name = "block_count", .fields = "num_layers", .symbol = "L", .need = Need::required},
    {.name = "context_length",
     .fields = "n_positions",
     .fallback = "512",
     .missing = Missing::assume,
     .need = Need::required},
    {.name = "embedding_length", .fields = "d_model", .symbol = "E", .need = Need::required},
    {.name = "feed_forward_length", .fields = "d_ff", .symbol = "F", .need = Need::required},
    {.name = "attention.head_count",
     .fields = "num_heads",
     .symbol = "H",
     .missing = Missing::refuse,
     .need = Need::required},
    {.name = "attention.key_length", .fields = "d_kv", .symbol = "D", .loader_default = "E/H"},
    {.name = "attention.value_length", .fallback = "D", .missing = Missing::assume, .loader_default = "E/H"},
    {.name = "attention.relative_buckets_count",
     .fields = "relative_attention_num_buckets",
     .symbol = "B",
     .need = Need::required},
    {.name = "attention.layer_norm_rms_epsilon",
     .type = KeyType::f32,
     .fields = "layer_norm_epsilon",
     .fallback = "1e-6",
     .missing = Missing::assume,
     .need = Need::required},
    {.name = "vocab_size", .fields = "vocab_size", .symbol = "V", .loader_default = "0"},
};

// llama_decode() sees both ways only with this key; llama_encode() always does.
static Status write_causal(KeyWriter& out, const Key& key) {
  out.flag(key.name, false);
  return {};
}
constexpr Key of_encoder[] = {
    {.name = "attention.causal", .type = KeyType::flag, .write = write_causal},
};
constexpr Key of_decoder[] = {
    {.name = "decoder_block_count",
     .fields = "num_decoder_layers",
     .symbol = "Ldec",
     .fallback = "L",
     .loader_default = "L"},
    {.name = "decoder_start_token_id", .fields = "decoder_start_token_id", .fallback = "0", .missing = Missing::assume},
};

constexpr std::string_view not_quantised = "llama.cpp reads single rows of the table";

// Only UMT5 has a table in every layer; the others use the first layer's.
constexpr Tensor encoder[] = {
    {"enc.attn_norm", "E", "encoder.layer.0.layer_norm", Need::required, Need::absent, "i<L"},
    {"enc.attn_q", "E,H*D", "encoder.layer.0.SelfAttention.q", Need::required, Need::absent, "i<L"},
    {"enc.attn_k", "E,H*D", "encoder.layer.0.SelfAttention.k", Need::required, Need::absent, "i<L"},
    {"enc.attn_v", "E,H*D", "encoder.layer.0.SelfAttention.v", Need::required, Need::absent, "i<L"},
    {"enc.attn_o", "H*D,E", "encoder.layer.0.SelfAttention.o", Need::required, Need::absent, "i<L"},
    {.name = "enc.attn_rel_b",
     .ne = "H,B",
     .source = "encoder.layer.0.SelfAttention.relative_attention_bias",
     .when = "i<1",
     .plain = not_quantised},
    {.name = "enc.attn_rel_b",
     .ne = "H,B",
     .source = "encoder.layer.0.SelfAttention.relative_attention_bias",
     .need = Need::optional,
     .when = "i>=1 & i<L",
     .plain = not_quantised},
    {"enc.ffn_norm", "E", "encoder.layer.1.layer_norm", Need::required, Need::absent, "i<L"},
    {"enc.ffn_gate", "E,F", "encoder.layer.1.DenseReluDense.wi_0", Need::optional, Need::absent, "i<L"},
    {"enc.ffn_up", "E,F", "[G] encoder.layer.1.DenseReluDense.wi_1 | encoder.layer.1.DenseReluDense.wi", Need::required,
     Need::absent, "i<L"},
    {"enc.ffn_down", "F,E", "encoder.layer.1.DenseReluDense.wo", Need::required, Need::absent, "i<L"},
};
constexpr Tensor decoder[] = {
    {"dec.attn_norm", "E", "decoder.layer.0.layer_norm", Need::required, Need::absent, "i<Ldec"},
    {"dec.attn_q", "E,H*D", "decoder.layer.0.SelfAttention.q", Need::required, Need::absent, "i<Ldec"},
    {"dec.attn_k", "E,H*D", "decoder.layer.0.SelfAttention.k", Need::required, Need::absent, "i<Ldec"},
    {"dec.attn_v", "E,H*D", "decoder.layer.0.SelfAttention.v", Need::required, Need::absent, "i<Ldec"},
    {"dec.attn_o", "H*D,E", "decoder.layer.0.SelfAttention.o", Need::required, Need::absent, "i<Ldec"},
    {.name = "dec.attn_rel_b",
     .ne = "H,B",
     .source = "decoder.layer.0.SelfAttention.relative_attention_bias",
     .when = "i<1",
     .plain = not_quantised},
    {.name = "dec.attn_rel_b",
     .ne = "H,B",
     .source = "decoder.layer.0.SelfAttention.relative_attention_bias",
     .need = Need::optional,
     .when = "i>=1 & i<Ldec",
     .plain = not_quantised},
    {"dec.cross_attn_norm", "E", "decoder.layer.1.layer_norm", Need::required, Need::absent, "i<Ldec"},
    {"dec.cross_attn_q", "E,H*D", "decoder.layer.1.EncDecAttention.q", Need::required, Need::absent, "i<Ldec"},
    {"dec.cross_attn_k", "E,H*D", "decoder.layer.1.EncDecAttention.k", Need::required, Need::absent, "i<Ldec"},
    {"dec.cross_attn_v", "E,H*D", "decoder.layer.1.EncDecAttention.v", Need::required, Need::absent, "i<Ldec"},
    {"dec.cross_attn_o", "H*D,E", "decoder.layer.1.EncDecAttention.o", Need::required, Need::absent, "i<Ldec"},
    // In old files; neither class nor runtime uses it.
    {.name = "dec.cross_attn_rel_b",
     .ne = "H,B",
     .source = "decoder.layer.1.EncDecAttention.relative_attention_bias",
     .need = Need::optional,
     .when = "i<1",
     .plain = not_quantised},
    {"dec.ffn_norm", "E", "decoder.layer.2.layer_norm", Need::required, Need::absent, "i<Ldec"},
    {"dec.ffn_gate", "E,F", "decoder.layer.2.DenseReluDense.wi_0", Need::optional, Need::absent, "i<Ldec"},
    {"dec.ffn_up", "E,F", "[Gd] decoder.layer.2.DenseReluDense.wi_1 | decoder.layer.2.DenseReluDense.wi",
     Need::required, Need::absent, "i<Ldec"},
    {"dec.ffn_down", "F,E", "decoder.layer.2.DenseReluDense.wo", Need::required, Need::absent, "i<Ldec"},
};
constexpr Tensor first[] = {{"token_embd", "E,V", "shared | encoder.embed_tokens | decoder.embed_tokens"}};
constexpr Tensor encoder_last[] = {{"enc.output_norm", "E", "encoder.final_layer_norm"}};
constexpr Tensor last[] = {
    {"enc.output_norm", "E", "encoder.final_layer_norm"},
    {"dec.output_norm", "E", "decoder.final_layer_norm"},
    {"output", "E,V", "lm_head"},
};
constexpr Mark encoder_marks[] = {{"G", "enc.ffn_gate"}};
constexpr Mark marks[] = {{"G", "enc.ffn_gate"}, {"Gd", "dec.ffn_gate"}};

constexpr Fixed fixed[] = {
    {"relative_attention_max_distance", "128", Severity::error, "llama.cpp counts all distances from 128 on as one"},
};

constexpr std::string_view gelus = "gelu|gelu_new|gelu_pytorch_tanh";

// llama.cpp computes GELU with a gate and ReLU without one. `feed_forward_proj` states both, "gated-gelu" or "relu".
static Status check_activation(KeyWriter& out) {
  const hf::Config& config = out.config();
  const std::string_view stated = config.string_field("feed_forward_proj").value_or("relu");
  constexpr std::string_view gate = "gated-";
  const bool is_gated = stated.starts_with(gate);
  const std::string_view kind = is_gated ? stated.substr(gate.size()) : stated;
  const std::string_view computed = is_gated ? gelus : "relu";
  const std::string_view because =
      is_gated ? "llama.cpp computes GELU with a gate" : "llama.cpp computes ReLU without a gate";
  if (!has_name(computed, kind)) {
    return out.refuse("feed_forward_proj", fmt::format("is {}, but {}", stated, because));
  }
  if (const auto name = config.string_field("dense_act_fn"); name && !has_name(computed, *name)) {
    return out.refuse("dense_act_fn", fmt::format("the activation is {}, but {}", *name, because));
  }
  const auto differs = [&](std::string_view symbol, u64 layers) {
    for (u64 layer = 0; layer < layers; ++layer) {
      if ((out.sizes().get(symbol, layer) != 0) != is_gated) return true;
    }
    return false;
  };
  if (differs("G", out.size("L")) || differs("Gd", out.size("Ldec"))) {
    return out.refuse("feed_forward_proj", fmt::format("is {}, but the tensors of a layer say otherwise", stated));
  }
  return {};
}

// With the embedding as head, the class scales the decoder's output.
static Status note_of_scale(KeyWriter& out) {
  if (out.size("head") != 0) return {};
  out.remark(
      Severity::note, "tie_word_embeddings",
      "the embedding is the output head, and the class then divides the decoder's output by the root of d_model; "
      "llama.cpp does not: the best token is the same, probabilities differ");
  return {};
}

static bool is_only_encoder(const hf::Config& config) {
  if (config.architecture.empty()) return config.bool_field("is_encoder_decoder") == false;
  return config.architecture.ends_with("EncoderModel");
}

static bool has_all_tables(const ConfigWriter& out, std::string_view stack) {
  return out.size("L") > 1 && out.has_tensor(fmt::format("{}.blk.1.attn_rel_b.weight", stack));
}

static Status describe_common(ConfigWriter& out) {
  const bool is_gated = out.has_tensor("enc.blk.0.ffn_gate.weight");
  out.take("hidden_act");
  out.set("feed_forward_proj", is_gated ? "gated-gelu" : "relu");
  out.set("is_gated_act", is_gated);
  out.set("dense_act_fn", is_gated ? "gelu_new" : "relu");
  return {};
}
static Status describe_encoder(ConfigWriter& out) {
  if (has_all_tables(out, "enc")) set_identity(out, "UMT5EncoderModel", "umt5");
  out.set("is_encoder_decoder", false);
  return describe_common(out);
}
static Status describe(ConfigWriter& out) {
  if (has_all_tables(out, "enc")) set_identity(out, "UMT5ForConditionalGeneration", "umt5");
  out.set("is_encoder_decoder", true);
  return describe_common(out);
}

constexpr Family t5encoder = {
    .name = "t5encoder",
    .gguf = "t5encoder",
    .classes = "T5EncoderModel|MT5EncoderModel|UMT5EncoderModel",
    .model_types = "t5|mt5|umt5",
    .about = "The encoder alone; a bias by distance in place of positions.",
    .fits = is_only_encoder,
    .layer_prefixes = "encoder.block.|decoder.block.",
    .activation = "relu",
    .activation_names = "relu|gelu|gelu_new",
    .head = OutputHead::never,
    .class_has_defaults = true,
    .keys = {sizes, of_encoder},
    .layer_tensors = {encoder},
    .first_tensors = first,
    .last_tensors = encoder_last,
    .marks = encoder_marks,
    .fixed = fixed,
    .checks = {check_activation},
    .config = {.fields = "n_positions|num_layers|d_model|d_ff|num_heads|layer_norm_epsilon",
               .describe = describe_encoder},
    .cache = {.has_encoder = true},
};
MU_FAMILY(t5encoder);

constexpr Family t5 = {
    .name = "t5",
    .gguf = "t5",
    .classes =
        "T5ForConditionalGeneration|T5WithLMHeadModel|MT5ForConditionalGeneration|UMT5ForConditionalGeneration|"
        "UMT5Model",
    .model_types = "t5|mt5|umt5",
    .about = "Encoder and decoder; a bias by distance in place of positions.",
    .layer_prefixes = "encoder.block.|decoder.block.",
    .activation = "relu",
    .activation_names = "relu|gelu|gelu_new",
    .tied_by_default = true,
    .class_has_defaults = true,
    .keys = {sizes, of_decoder},
    .layer_tensors = {encoder, decoder},
    .first_tensors = first,
    .last_tensors = last,
    .marks = marks,
    .fixed = fixed,
    .checks = {check_activation, note_of_scale},
    .config = {.fields = "n_positions|num_layers|d_model|d_ff|num_heads|layer_norm_epsilon", .describe = describe},
    .cache = {.has_encoder = true},
};
MU_FAMILY(t5);

}  // namespace modelutils::arch::families::t5
