#include "arch/adapter_facts.h"

#include <algorithm>

namespace modelutils::arch {

namespace {

constexpr std::string_view ignored = "llama.cpp ignores";

struct LostPairs {
  std::string_view architectures;  ///< general.architecture, several separated by '|'; empty for all
  std::string_view rows;
  std::string_view because;
};

constexpr LostPairs table[] = {
    {"", "ssm_conv1d|ssm_conv1d_q|ssm_conv1d_k|ssm_conv1d_v|shortconv.conv|ssm_a|ssm_d|rope_freqs", ignored},
    {"deepseek2|minicpm3|kimi-linear", "attn_q_a|attn_q_b|attn_kv_a_mqa|attn_k_b|attn_v_b|attn_kv_b", ignored},
    {"deepseek2|kimi-linear", "output", ignored},
    {"kimi-linear",
     "attn_q|attn_k|attn_v|attn_output|ssm_in|ssm_out|ssm_x|ssm_dt|ssm_f_a|ssm_f_b|ssm_g_a|ssm_g_b|ssm_beta", ignored},
    {"rwkv7",
     "time_mix_w1|time_mix_w2|time_mix_a1|time_mix_a2|time_mix_v1|time_mix_v2|time_mix_g1|time_mix_g2|"
     "time_mix_lerp_fused",
     ignored},
    {"gpt2|starcoder", "position_embd", ignored},
    {"gemma3n|gemma4",
     "per_layer_model_proj|altup_proj|altup_unembd_proj|altup_router|altup_correct_coef|altup_predict_coef", ignored},
    {"gemma3n|gemma4", "per_layer_token_embd", "llama.cpp refuses"},
    {"gemma4", "ffn_down_exps|ffn_gate_up_exps", "llama.cpp applies without the experts' scales"},
};

// The tensors that llama.cpp multiplies in build_ffn().
constexpr std::string_view feed_forward = "ffn_up|ffn_gate|ffn_down|ffn_up_shexp|ffn_gate_shexp|ffn_down_shexp";

}  // namespace

std::string_view pair_is_lost(const Family& family, std::string_view row, bool is_tied) {
  if (row.starts_with('@')) row.remove_prefix(1);
  if (row == "token_embd" && is_tied) return "crashes llama.cpp, because the embedding is also the output head";
  const auto found = std::ranges::find_if(table, [&](const LostPairs& lost) {
    return (lost.architectures.empty() || has_name(lost.architectures, family.gguf)) && has_name(lost.rows, row);
  });
  return found == std::end(table) ? std::string_view() : found->because;
}

bool scaled_pair_aborts(std::string_view row, TensorType type) {
  if (row.starts_with('@')) row.remove_prefix(1);
  return type == TensorType::NVFP4 && has_name(feed_forward, row);
}

std::string_view scaled_pair_is_lost(const Family& family, std::string_view row, TensorType type) {
  if (row.starts_with('@')) row.remove_prefix(1);
  if (scaled_pair_aborts(row, type)) {
    return "crashes llama.cpp, because the tensor is NVFP4 with a factor (.scale)";
  }
  const bool is_late_output = row == "attn_output" && has_name("glm4|glm4moe|jais2", family.gguf);
  if (!is_late_output && !has_name(feed_forward, row)) return {};
  return "llama.cpp also multiplies by the factor of the weights (.scale)";
}

std::optional<std::string> weight_of_scale(const Names& names, std::string_view tensor) {
  constexpr std::string_view suffix = ".scale";
  if (!tensor.ends_with(suffix) || names.find_gguf(tensor).row != nullptr) return std::nullopt;
  return std::string(tensor.substr(0, tensor.size() - suffix.size())) + ".weight";
}

}  // namespace modelutils::arch
