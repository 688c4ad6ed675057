// The tensors that llama.cpp's loaders ask for in architectures to which no directory can be converted, and those that
// they ask for besides the tensors that a directory gives. A name stands for its ".weight"; with '+' also for its
// ".bias"; after '=' for the exact name. A leading dot stands for "blk.N.", '#' for a number. Source: llama.cpp v0.5.0
// (de3ff815), src/models (load_arch_tensors).
#include <algorithm>
#include <span>

#include "arch/families/runtime_only.h"
#include "arch/family.h"

namespace modelutils::arch {

namespace {

struct RuntimeTensors {
  std::string_view architectures;
  std::string_view tensors;
};

// clang-format off
constexpr RuntimeTensors rows[] = {
    {"arctic",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output .ffn_norm "
     ".ffn_gate .ffn_down .ffn_up .ffn_gate_inp .ffn_norm_exps .ffn_gate_exps .ffn_down_exps .ffn_up_exps"},
    {"arwkv7",
     "token_embd output_norm output .attn_norm .time_mix_w0 .time_mix_w1 .time_mix_w2 .time_mix_a0 .time_mix_a1 "
     ".time_mix_a2 .time_mix_v0 .time_mix_v1 .time_mix_v2 .time_mix_g1 .time_mix_g2 .time_mix_lerp_fused "
     ".time_mix_k_k .time_mix_k_a .time_mix_r_k .time_mix_key .time_mix_value .time_mix_receptance .time_mix_ln+ "
     ".time_mix_output .ffn_norm .ffn_gate .ffn_down .ffn_up"},
    {"xverse",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output .ffn_norm "
     ".ffn_gate .ffn_down .ffn_up"},
    {"bitnet",
     "token_embd output_norm .attn_norm .attn_sub_norm .attn_q =.attn_q.scale .attn_k =.attn_k.scale .attn_v "
     "=.attn_v.scale .attn_output =.attn_output.scale .ffn_norm .ffn_sub_norm .ffn_gate =.ffn_gate.scale .ffn_down "
     "=.ffn_down.scale .ffn_up =.ffn_up.scale"},
    {"chameleon",
     "token_embd output_norm output .attn_norm .attn_q_norm+ .attn_k_norm+ .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ "
     ".attn_output .ffn_norm .ffn_gate .ffn_down .ffn_up"},
    {"codeshell",
     "token_embd output output_norm+ .attn_norm+ .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output+ .ffn_norm+ "
     ".ffn_down+ .ffn_up+"},
    {"dflash",
     "token_embd =d2t markov_w1 markov_w2 =markov_w2.scale conf_proj+ selector_predecessor selector_successor "
     "selector_hidden fc =fc.scale enc.output_norm output_norm output output_hc_fn output_hc_base output_hc_scale "
     ".attn_norm .attn_sinks .attn_q_a .attn_q_a_norm .attn_q_b .attn_kv .attn_kv_a_norm .attn_output_a "
     ".attn_output_b .hc_attn_fn .hc_attn_base .hc_attn_scale .hc_ffn_fn .hc_ffn_base .hc_ffn_scale .ffn_gate_inp "
     "=.exp_probs_b.bias .ffn_norm .ffn_gate_exps .ffn_down_exps .ffn_up_exps .ffn_gate_shexp .ffn_down_shexp "
     ".ffn_up_shexp .attn_q .attn_k .attn_v .attn_output .attn_q_norm .attn_k_norm .post_attention_norm "
     ".post_ffw_norm .layer_output_scale rope_freqs .ffn_gate .ffn_down .ffn_up =.attn_conv_base .attn_conv_proj "
     "=.ffn_conv_base .ffn_conv_proj"},
    {"dots3note",
     "token_embd output_norm output .attn_norm .attn_q_a_norm .attn_kv_a_norm .attn_k_norm .attn_q_a .attn_q_b "
     ".attn_kv_a_mqa .attn_k_b .attn_v_b .attn_output .attn_gate .ffn_norm .indexer.k_norm+ .indexer.proj "
     ".indexer.attn_k .indexer.attn_q_b .ffn_gate .ffn_down .ffn_up .ffn_gate_inp =.exp_probs_b.bias .ffn_gate_exps "
     ".ffn_down_exps .ffn_up_exps .ffn_gate_shexp .ffn_down_shexp .ffn_up_shexp .nextn.eh_proj .nextn.enorm "
     ".nextn.hnorm .nextn.embed_tokens .nextn.shared_head_norm"},
    {"dream",
     "token_embd output_norm output+ .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output .ffn_norm "
     ".ffn_gate .ffn_down .ffn_up"},
    {"eagle3",
     "=d2t fc enc.output_norm output_norm output token_embd .attn_norm .attn_norm_2 .attn_q .attn_k .attn_v "
     ".attn_output .ffn_norm .ffn_gate .ffn_down .ffn_up rope_freqs"},
    {"gemma4-assistant",
     "token_embd output_norm masked_embd_centroids =masked_embd_ordering nextn.post_projection nextn.pre_projection "
     ".attn_norm .attn_q .attn_output .attn_q_norm .post_attention_norm .layer_output_scale rope_freqs .ffn_norm "
     ".ffn_gate .ffn_up .ffn_down .post_ffw_norm"},
    {"granite_swa",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output+ .attn_sinks "
     ".ffn_norm rope_factors_long rope_factors_short rope_freqs .ffn_gate+ .ffn_down+ .ffn_up+ .ffn_gate_inp "
     ".ffn_down_exps .ffn_gate_up_exps .ffn_gate_exps .ffn_up_exps .ffn_up_shexp .ffn_down_shexp"},
    {"graniteswitch",
     "token_embd output_norm output .attn_norm .attn_qkv .attn_output .ffn_norm .ffn_gate .ffn_down .ffn_up "
     "=.attn_q.lora_a =.attn_q.lora_b =.attn_k.lora_a =.attn_k.lora_b =.attn_v.lora_a =.attn_v.lora_b "
     "=.attn_output.lora_a =.attn_output.lora_b =.ffn_gate.lora_a =.ffn_gate.lora_b =.ffn_up.lora_a =.ffn_up.lora_b "
     "=.ffn_down.lora_a =.ffn_down.lora_b"},
    {"grok",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output .attn_output_norm "
     ".ffn_norm .ffn_gate .ffn_down .ffn_up .ffn_gate_inp .ffn_gate_exps .ffn_down_exps .ffn_up_exps "
     ".layer_output_norm .post_ffw_norm"},
    {"grovemoe",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output .attn_k_norm "
     ".attn_q_norm .ffn_norm .ffn_gate_inp .ffn_gate_exps .ffn_down_exps .ffn_up_exps .ffn_gate_chexps "
     ".ffn_down_chexps .ffn_up_chexps"},
    {"hrm_text",
     "token_embd output =hrm.z_l_init .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_gate .attn_output .ffn_gate "
     ".ffn_down .ffn_up"},
    {"maincoder",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output .attn_k_norm "
     ".attn_q_norm .ffn_norm .ffn_gate .ffn_down .ffn_up"},
    {"hy_v4",
     "token_embd output_norm output output_hc_fn output_hc_base output_hc_scale .attn_norm .attn_sinks .attn_q_a "
     ".attn_q_a_norm .attn_q_b .attn_kv_a_mqa .attn_kv_a_norm .attn_k_b .attn_v_b .attn_output .attn_gate "
     ".indexer.attn_q_b .indexer.attn_k .indexer.k_norm+ .indexer.proj .hc_attn_fn .hc_attn_base .hc_attn_scale "
     ".hc_ffn_fn .hc_ffn_base .hc_ffn_scale .ffn_norm .ffn_gate .ffn_down .ffn_up .ffn_gate_inp =.exp_probs_b.bias "
     ".ffn_gate_exps .ffn_up_exps .ffn_down_exps .ffn_gate_shexp .ffn_down_shexp .ffn_up_shexp"},
    {"jais",
     "token_embd output_norm+ output .attn_norm+ .attn_qkv+ .attn_output+ .ffn_norm+ .ffn_down+ .ffn_gate+ .ffn_up+"},
    {"jais2",
     "token_embd output_norm+ output .attn_norm+ .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output+ .ffn_norm+ "
     ".ffn_up+ .ffn_down+"},
    {"llada",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output+ .ffn_norm "
     "rope_freqs .ffn_gate+ .ffn_down+ .ffn_up+"},
    {"llada-moe|maple",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output .attn_q_norm "
     ".attn_k_norm .ffn_norm .ffn_gate_inp .ffn_gate_exps .ffn_down_exps .ffn_up_exps"},
    {"refact",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output+ .ffn_norm "
     "rope_factors_long rope_factors_short rope_freqs .ffn_gate+ .ffn_down+ .ffn_up+ .ffn_gate_inp .ffn_gate_exps "
     ".ffn_down_exps .ffn_up_exps .ffn_gate_shexp .ffn_up_shexp .ffn_down_shexp"},
    {"minimax-01",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_norm_2 .attn_gate "
     ".attn_output .ffn_norm .ffn_gate_inp .ffn_gate_exps .ffn_down_exps .ffn_up_exps"},
    {"mistral4",
     "token_embd output_norm output .attn_norm .attn_q_a_norm .attn_kv_a_norm .attn_q_a .attn_q_b .attn_q "
     ".attn_kv_a_mqa .attn_k_b .attn_v_b .attn_kv_b .attn_output .ffn_norm .ffn_gate .ffn_down .ffn_up "
     ".ffn_gate_inp =.exp_probs_b.bias .ffn_down_exps .ffn_gate_up_exps .ffn_gate_exps .ffn_up_exps .ffn_gate_shexp "
     ".ffn_down_shexp .ffn_up_shexp .nextn.eh_proj .nextn.enorm .nextn.hnorm .nextn.embed_tokens "
     ".nextn.shared_head_head .nextn.shared_head_norm"},
    {"muse-glimmer",
     "token_embd output_norm output .attn_norm .post_attention_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ "
     ".attn_output .attn_q_norm .attn_k_norm .attn_gate .ffn_norm .post_ffw_norm .ffn_gate .ffn_down .ffn_up"},
    {"pangu-embedded",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output+ .ffn_norm "
     "rope_factors_long rope_factors_short rope_freqs .ffn_gate .ffn_down .ffn_up"},
    {"plamo3",
     "token_embd output_norm output .attn_norm .attn_qkv .attn_q_norm .attn_k_norm .attn_output "
     "=.post_attention_norm .ffn_norm =.post_ffw_norm .ffn_up .ffn_down"},
    {"plm",
     "token_embd output_norm .attn_norm .attn_q .attn_kv_a_mqa .attn_kv_a_norm .attn_kv_b .attn_output .ffn_norm "
     ".ffn_down .ffn_up"},
    {"pockettts",
     "token_embd output_norm+ .attn_norm+ .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output .ffn_norm+ .ffn_down "
     ".ffn_up"},
    {"qwen3tts",
     "token_embd output_norm output cls.output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output "
     ".attn_k_norm .attn_q_norm .ffn_norm .ffn_gate .ffn_down .ffn_up"},
    {"rnd1",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output .attn_k_norm "
     ".attn_q_norm .ffn_norm .ffn_gate_inp .ffn_gate_exps .ffn_down_exps .ffn_up_exps"},
    {"rwkv6",
     "token_embd token_embd_norm+ output_norm+ output .attn_norm+ .attn_norm_2+ .time_mix_w1 .time_mix_w2 "
     ".time_mix_lerp_x .time_mix_lerp_w .time_mix_lerp_k .time_mix_lerp_v .time_mix_lerp_r .time_mix_lerp_g "
     ".time_mix_lerp_fused .time_mix_first .time_mix_decay .time_mix_decay_w1 .time_mix_decay_w2 .time_mix_key "
     ".time_mix_value .time_mix_receptance .time_mix_gate .time_mix_ln+ .time_mix_output .channel_mix_lerp_k "
     ".channel_mix_lerp_r .channel_mix_key .channel_mix_value .channel_mix_receptance"},
    {"rwkv6qwen2",
     "token_embd output_norm+ output .attn_norm .time_mix_w1 .time_mix_w2 .time_mix_lerp_x .time_mix_lerp_fused "
     ".time_mix_first .time_mix_decay .time_mix_decay_w1 .time_mix_decay_w2 .time_mix_key+ .time_mix_value+ "
     ".time_mix_receptance+ .time_mix_gate .time_mix_output .ffn_norm .ffn_gate .ffn_down .ffn_up"},
    {"smallthinker",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output .ffn_norm "
     ".ffn_gate_inp .ffn_gate_exps .ffn_down_exps .ffn_up_exps"},
    {"spark2_5",
     "token_embd output_norm output .attn_norm .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_gate .attn_output "
     ".ffn_norm .ffn_gate .ffn_up .ffn_down"},
    {"talkie",
     "token_embd output .attn_qkv+ .attn_q+ .attn_k+ .attn_v+ .attn_output .attn_q_norm .ffn_gate .ffn_up .ffn_down "
     ".layer_output_scale"},
    {"wavtokenizer-dec",
     "token_embd conv1d+ posnet.#.norm1+ posnet.#.conv1+ posnet.#.norm2+ posnet.#.conv2+ posnet.#.attn_norm+ "
     "posnet.#.attn_q+ posnet.#.attn_k+ posnet.#.attn_v+ posnet.#.attn_output+ token_embd_norm+ convnext.#.dw+ "
     "convnext.#.norm+ convnext.#.pw1+ convnext.#.pw2+ convnext.#.gamma output_norm+ output+"},
};
constexpr RuntimeTensors further_rows[] = {
    {"cohere2moe|hy_v3", ".ffn_gate_up_exps"},
    {"deepseek4",
     "=.exp_probs_b_vl.bias .nextn.eh_proj .nextn.enorm .nextn.hnorm .nextn.embed_tokens .nextn.shared_head_head "
     ".nextn.shared_head_norm"},
    {"qwen4exp",
     "per_layer_token_embd .ffn_gate_up_exps .ple_key .ple_value .ple_norm_key .ple_norm_query .ple_norm_conv "
     ".ple_conv1d"},
};
// clang-format on

// True for a pattern like "blk.#.attn_q" and a name like "blk.12.attn_q".
bool matches(std::string_view pattern, std::string_view name) {
  while (!pattern.empty()) {
    if (pattern.front() != '#') {
      if (name.empty() || name.front() != pattern.front()) return false;
      name.remove_prefix(1);
    } else {
      const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
      if (digits == 0) return false;
      name.remove_prefix(digits);
    }
    pattern.remove_prefix(1);
  }
  return name.empty();
}

bool is_named(std::string_view row, std::string_view tensor) {
  const bool is_exact = row.starts_with('='), has_bias = row.ends_with('+');
  if (is_exact) row.remove_prefix(1);
  if (has_bias) row.remove_suffix(1);
  if (row.starts_with('.')) {
    constexpr std::string_view layers = "blk.";
    if (!tensor.starts_with(layers)) return false;
    tensor.remove_prefix(layers.size());
    const std::size_t digits = std::min(tensor.find_first_not_of("0123456789"), tensor.size());
    if (digits == 0) return false;
    tensor.remove_prefix(digits);
  }
  if (is_exact) return matches(row, tensor);
  for (const std::string_view suffix : {".weight", ".bias"}) {
    if (suffix == ".bias" && !has_bias) break;
    if (tensor.ends_with(suffix) && matches(row, tensor.substr(0, tensor.size() - suffix.size()))) return true;
  }
  return false;
}

std::string_view tensors_of(std::span<const RuntimeTensors> table, std::string_view architecture) {
  const auto row = std::ranges::find_if(
      table, [&](const RuntimeTensors& each) { return has_name(each.architectures, architecture); });
  return row == table.end() ? std::string_view{} : row->tensors;
}

}  // namespace

std::string_view runtime_tensors(std::string_view architecture) {
  return tensors_of(rows, architecture);
}

std::string_view further_tensors(std::string_view architecture) {
  return tensors_of(further_rows, architecture);
}

bool has_runtime_tensor(std::string_view tensors, std::string_view name) {
  while (!tensors.empty()) {
    const std::size_t end = std::min(tensors.find(' '), tensors.size());
    if (is_named(tensors.substr(0, end), name)) return true;
    tensors.remove_prefix(std::min(end + 1, tensors.size()));
  }
  return false;
}

}  // namespace modelutils::arch
