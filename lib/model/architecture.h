// What llama.cpp's loader expects of each architecture that we write: tensors, shapes, who may be absent. (How Hugging
// Face directories map to architectures: hf/architecture.h.)
// Source: docs/conversion.md ("Architectures"), checked against the loader.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace modelutils {

enum class Presence : u8 { absent, optional, required };

/// How an architecture gets its output head.
enum class OutputHead : u8 {
  optional,  ///< without output.weight the embedding is used
  never,     ///< output.weight makes the loader refuse the file; the embedding is always used
  always,    ///< some loaders insist on output.weight: a tied model gets a copy of the embedding
};

/// One row of the table of architectures (general.architecture).
struct Architecture {
  std::string_view name;
  bool fused;           ///< attn_qkv and a double-width ffn_up (phi3)
  bool has_post_norms;  ///< post_attention_norm and post_ffw_norm
  Presence qk_norm;
  Presence qkv_bias;
  Presence linear_bias;  ///< attn_output.bias, ffn_*.bias
  Presence experts;
  bool has_shared_expert;
  bool head_dim_is_free;  ///< false: every loader assumes head_dim = n_embd / n_head
  bool has_rope_tensors;  ///< rope_freqs (llama) and rope_factors_long/short may be there
  OutputHead output;
  std::string_view activation;  ///< the one hard-wired into the runtime: "silu" or "gelu_pytorch_tanh"
  float hf_rope_theta;          ///< what a config.json without rope_theta means to Hugging Face tools
  float mlx_rope_theta;         ///< what it means to mlx-lm
};

std::span<const Architecture> all_architectures();
/// By general.architecture; nullptr if it is none that we know.
const Architecture* find_architecture(std::string_view name);

/// The numbers that decide every shape. Elements, not bytes.
struct HyperParameters {
  u64 n_layer = 0;
  u64 n_embd = 0;
  u64 n_vocab = 0;
  u64 n_ff = 0;
  u64 n_head = 0;
  u64 n_head_kv = 0;
  u64 head_dim = 0;
  u64 n_expert = 0;  ///< 0: dense
  u64 n_expert_used = 0;
  u64 n_ff_expert = 0;  ///< width of one expert
  u64 n_ff_shared = 0;  ///< width of the shared expert
  u64 n_rot = 0;        ///< rotated dimensions of a head
};

struct ExpectedTensor {
  std::string name;
  std::vector<u64> ne;
  Presence presence;
  bool must_be_f32;  ///< norms, biases, routers, rope factors: another type loads and then aborts at the first decode
};

/// Every tensor that a file of this architecture may or must have, in the order we write them. Products of the shapes
/// are not checked for overflow here.
std::vector<ExpectedTensor> expected_tensors(const Architecture& architecture, const HyperParameters& parameters);

}  // namespace modelutils
