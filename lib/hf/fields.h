// Fields of config.json that have several names. The one list of aliases: readers of the file, rows of families and the
// summary take them from here. The first name that the file has counts.
#pragma once

#include <string_view>

namespace modelutils::hf::fields {

inline constexpr std::string_view layers = "num_hidden_layers|n_layers|n_layer|num_layers";
inline constexpr std::string_view context =
    "max_position_embeddings|n_ctx|n_positions|max_sequence_length|model_max_length|max_seq_len";
inline constexpr std::string_view width = "hidden_size|n_embd|dim|d_model";
inline constexpr std::string_view feed_forward = "intermediate_size|n_inner|hidden_dim";
inline constexpr std::string_view heads = "num_attention_heads|n_head|n_heads";
inline constexpr std::string_view kv_heads = "num_key_value_heads|n_kv_heads";
inline constexpr std::string_view experts = "num_local_experts|num_experts|n_routed_experts|moe_num_experts";
inline constexpr std::string_view experts_used =
    "num_experts_per_tok|experts_per_token|num_experts_per_token|moe_topk|moe_k";
inline constexpr std::string_view rms_epsilon = "rms_norm_eps|norm_eps";
inline constexpr std::string_view rope_base = "rope_theta|global_rope_theta|rope_global_theta|rotary_emb_base";
inline constexpr std::string_view rope_base_sliding = "rope_local_base_freq|local_rope_theta|swa_rope_theta";
inline constexpr std::string_view activation = "hidden_activation|hidden_act";
inline constexpr std::string_view dtype = "dtype|torch_dtype";

}  // namespace modelutils::hf::fields
