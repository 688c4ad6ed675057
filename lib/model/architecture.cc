#include "model/architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace modelutils {

namespace {

constexpr auto absent = Presence::absent;
constexpr auto optional = Presence::optional;
constexpr auto required = Presence::required;
constexpr std::string_view silu = "silu";
constexpr std::string_view gelu = "gelu_pytorch_tanh";

// clang-format off
constexpr std::array architectures = {
    //           name        fused  post   qk_norm   qkv_bias  lin_bias  experts   shared free   rope   output                activation theta, mlx
    Architecture{"llama",    false, false, absent,   optional, optional, optional, false, true,  true,  OutputHead::optional, silu, 1e4f, 1e4f},
    Architecture{"qwen2",    false, false, absent,   required, absent,   absent,   false, false, false, OutputHead::optional, silu, 1e4f, 1e6f},
    Architecture{"qwen2moe", false, false, absent,   required, absent,   required, true,  false, false, OutputHead::always,   silu, 1e4f, 1e6f},
    Architecture{"qwen3",    false, false, required, absent,   absent,   absent,   false, true,  false, OutputHead::optional, silu, 1e4f, 1e6f},
    Architecture{"qwen3moe", false, false, required, absent,   absent,   required, false, true,  false, OutputHead::optional, silu, 1e4f, 1e6f},
    Architecture{"gemma",    false, false, absent,   absent,   absent,   absent,   false, true,  false, OutputHead::never,    gelu, 1e4f, 1e4f},
    Architecture{"gemma2",   false, true,  absent,   absent,   absent,   absent,   false, true,  false, OutputHead::never,    gelu, 1e4f, 1e4f},
    Architecture{"gemma3",   false, true,  required, absent,   absent,   absent,   false, true,  false, OutputHead::optional, gelu, 1e6f, 1e6f},
    Architecture{"phi3",     true,  false, absent,   absent,   absent,   absent,   false, true,  true,  OutputHead::always,   silu, 1e4f, 1e4f},
};
// clang-format on

}  // namespace

std::span<const Architecture> all_architectures() {
  return architectures;
}

const Architecture* find_architecture(std::string_view name) {
  const auto found = std::find_if(architectures.begin(), architectures.end(),
                                  [&](const Architecture& row) { return row.name == name; });
  return found == architectures.end() ? nullptr : &*found;
}

std::vector<ExpectedTensor> expected_tensors(const Architecture& architecture, const HyperParameters& p) {
  std::vector<ExpectedTensor> tensors;
  const auto add = [&](std::string name, std::vector<u64> ne, Presence presence = required) {
    if (presence != absent) tensors.push_back({std::move(name), std::move(ne), presence, false});
  };
  const auto add_f32 = [&](std::string name, std::vector<u64> ne, Presence presence = required) {
    if (presence != absent) tensors.push_back({std::move(name), std::move(ne), presence, true});
  };
  const u64 q_rows = p.head_dim * p.n_head;
  const u64 kv_rows = p.head_dim * p.n_head_kv;
  const bool has_experts = p.n_expert > 0;

  add("token_embd.weight", {p.n_embd, p.n_vocab});
  if (p.n_rot > 0) {
    const Presence factors = architecture.has_rope_tensors ? optional : absent;
    add_f32("rope_freqs.weight", {p.n_rot / 2}, architecture.fused ? absent : factors);
    add_f32("rope_factors_long.weight", {p.n_rot / 2}, factors);
    add_f32("rope_factors_short.weight", {p.n_rot / 2}, factors);
  }
  for (u64 layer = 0; layer < p.n_layer; ++layer) {
    const auto block = [&](std::string_view role) { return fmt::format("blk.{}.{}", layer, role); };
    add_f32(block("attn_norm.weight"), {p.n_embd});
    if (architecture.fused) {
      add(block("attn_qkv.weight"), {p.n_embd, q_rows + 2 * kv_rows});
    } else {
      add(block("attn_q.weight"), {p.n_embd, q_rows});
      add_f32(block("attn_q.bias"), {q_rows}, architecture.qkv_bias);
      add(block("attn_k.weight"), {p.n_embd, kv_rows});
      add_f32(block("attn_k.bias"), {kv_rows}, architecture.qkv_bias);
      add(block("attn_v.weight"), {p.n_embd, kv_rows});
      add_f32(block("attn_v.bias"), {kv_rows}, architecture.qkv_bias);
    }
    add_f32(block("attn_q_norm.weight"), {p.head_dim}, architecture.qk_norm);
    add_f32(block("attn_k_norm.weight"), {p.head_dim}, architecture.qk_norm);
    add(block("attn_output.weight"), {q_rows, p.n_embd});
    add_f32(block("attn_output.bias"), {p.n_embd}, architecture.linear_bias);
    if (architecture.has_post_norms) add_f32(block("post_attention_norm.weight"), {p.n_embd});
    add_f32(block("ffn_norm.weight"), {p.n_embd});
    if (has_experts) {
      add_f32(block("ffn_gate_inp.weight"), {p.n_embd, p.n_expert});
      add(block("ffn_gate_exps.weight"), {p.n_embd, p.n_ff_expert, p.n_expert});
      add(block("ffn_up_exps.weight"), {p.n_embd, p.n_ff_expert, p.n_expert});
      add(block("ffn_down_exps.weight"), {p.n_ff_expert, p.n_embd, p.n_expert});
      if (architecture.has_shared_expert) {
        add_f32(block("ffn_gate_inp_shexp.weight"), {p.n_embd});
        add(block("ffn_gate_shexp.weight"), {p.n_embd, p.n_ff_shared});
        add(block("ffn_up_shexp.weight"), {p.n_embd, p.n_ff_shared});
        add(block("ffn_down_shexp.weight"), {p.n_ff_shared, p.n_embd});
      }
    } else if (architecture.fused) {
      add(block("ffn_up.weight"), {p.n_embd, 2 * p.n_ff});
      add(block("ffn_down.weight"), {p.n_ff, p.n_embd});
    } else {
      add(block("ffn_gate.weight"), {p.n_embd, p.n_ff});
      add_f32(block("ffn_gate.bias"), {p.n_ff}, architecture.linear_bias);
      add(block("ffn_up.weight"), {p.n_embd, p.n_ff});
      add_f32(block("ffn_up.bias"), {p.n_ff}, architecture.linear_bias);
      add(block("ffn_down.weight"), {p.n_ff, p.n_embd});
      add_f32(block("ffn_down.bias"), {p.n_embd}, architecture.linear_bias);
    }
    if (architecture.has_post_norms) add_f32(block("post_ffw_norm.weight"), {p.n_embd});
  }
  add_f32("output_norm.weight", {p.n_embd});
  switch (architecture.output) {
    case OutputHead::optional: add("output.weight", {p.n_embd, p.n_vocab}, optional); break;
    case OutputHead::always: add("output.weight", {p.n_embd, p.n_vocab}); break;
    case OutputHead::never: break;
  }
  return tensors;
}

}  // namespace modelutils
