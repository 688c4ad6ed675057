// Nemotron 3 and 4, Minitron: LayerNorm stored minus one, squared relu without gate, partial rotation.
#include "arch/common_rows.h"
#include "arch/families/list.h"

namespace modelutils::arch::families::nemotron {

constexpr auto sizes = decoder_sizes({.context = "4096", .epsilon = "1e-5", .layer_norm = true});
constexpr auto rope = partial_rope_keys_of("D/2");  // the class's partial_rotary_factor
constexpr Need must = Need::required;
constexpr Tensor layer[] = {
    {"attn_norm", "E", "input_layernorm@add_one", must, must},
    {"attn_q", "E,H*D", "self_attn.q_proj", must, Need::optional},
    {"attn_k", "E,K*D", "self_attn.k_proj", must, Need::optional},
    {"attn_v", "E,K*D", "self_attn.v_proj", must, Need::optional},
    {"attn_output", "H*D,E", "self_attn.o_proj", must, Need::optional},
    {"ffn_norm", "E", "post_attention_layernorm@add_one", must, must},
    {"ffn_up", "E,F", "mlp.up_proj", must, Need::optional},
    {"ffn_down", "F,E", "mlp.down_proj", must, Need::optional},
};
constexpr Tensor ends[] = {
    {"output_norm", "E", "model.norm@add_one", must, must},
    {"output", "E,V", "lm_head"},
};
constexpr Member members[] = {
    {"attention_bias", "@attn_q.bias"},
    {"mlp_bias", "@ffn_up.bias"},
};

constexpr Family nemotron = {
    .name = "nemotron",
    .gguf = "nemotron",
    .classes = "NemotronForCausalLM",
    .model_types = "nemotron",
    .about = "LayerNorm stored minus one, squared relu without gate, partial rotation",
    .activation = "relu2",
    .activation_names = "relu2",
    .head = OutputHead::always,
    .keys = {sizes, rope},
    .layer_tensors = {layer},
    .last_tensors = ends,
    .fixed = {rotates_halves},
    .relations = {whole_width},
    .config = {.fields = "norm_eps", .members = members},
};
MU_FAMILY(nemotron);

}  // namespace modelutils::arch::families::nemotron
