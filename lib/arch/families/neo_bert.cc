// NeoBERT: a rotary embedding of adjacent pairs, SwiGLU, and the projections of each head next to each other.
#include "arch/config_writer.h"
#include "arch/encoder_rows.h"
#include "arch/families/list.h"
#include "arch/key_writer.h"

namespace modelutils::arch::families::neo_bert {

// The class takes two thirds of intermediate_size, in multiples of 8.
constexpr u64 multiple = 8;
static std::optional<u64> width_of_class(const hf::Config& config, const Sizes& /*sizes*/) {
  const std::optional<u64> stated = config.count_field("intermediate_size");
  if (!stated || *stated > largest_size("F")) return std::nullopt;
  return (2 * *stated / 3 + multiple - 1) / multiple * multiple;
}
static Status read_width(ConfigWriter& out, const Key& key) {
  const u64 width = out.size(key.symbol);
  if (width % multiple != 0) return out.refuse(key.name, "is not a multiple of 8, but the class computes with one");
  out.set("intermediate_size", width / 2 * 3);
  return {};
}

constexpr auto sizes = [] {
  auto keys = encoder_sizes({.context = "4096", .epsilon = "1e-5", .rms_norm = true});
  named(keys, "context_length").fields = "max_length";
  named(keys, "feed_forward_length") = {.name = "feed_forward_length",
                                        .symbol = "F",
                                        .need = Need::required,
                                        .derive = width_of_class,
                                        .read = read_width};
  return keys;
}();
// The class has no field for the base.
static Status write_base(KeyWriter& out, const Key& key) {
  return out.real(key.name, out.family().hf_rope_theta);
}
static Status read_base(ConfigWriter& out, const Key& key) {
  if (out.real(key.name).value_or(out.family().hf_rope_theta) == out.family().hf_rope_theta) return {};
  return out.refuse(key.name, "is another base than the class's, 10000");
}
constexpr Key base[] = {{.name = "rope.freq_base", .type = KeyType::f32, .write = write_base, .read = read_base}};
constexpr Tensor layer[] = {
    {"attn_norm", "E", "attention_norm"}, {"attn_qkv", "E,3*E", "qkv{H t:3 j:E/H -> t H j}"},
    {"attn_output", "E,E", "wo"},         {"ffn_norm", "E", "ffn_norm"},
    {"ffn_up", "E,2*F", "ffn.w12"},       {"ffn_down", "F,E", "ffn.w3"},
};
constexpr Tensor first[] = {{"token_embd", "E,V", "encoder"}};
constexpr Tensor last[] = {{"enc.output_norm", "E", "layer_norm"}};

constexpr Family neo_bert = {
    .name = "neo-bert",
    .gguf = "neo-bert",
    .classes = "NeoBERT|NeoBERTLMHead",
    .model_types = "neobert",
    .about = "an encoder; without modules.json the first token is taken",
    .layer_prefixes = "transformer_encoder.",
    .outer_prefixes = "model.",
    .left_out = "decoder.|freqs_cis",
    .head = OutputHead::never,
    .pooling = 2,
    .keys = {sizes, no_token_types, base},
    .layer_tensors = {layer},
    .first_tensors = first,
    .last_tensors = last,
    .config = {.fields = "norm_eps"},
    .cache = {.has_cache = false},
};
MU_FAMILY(neo_bert);

}  // namespace modelutils::arch::families::neo_bert
