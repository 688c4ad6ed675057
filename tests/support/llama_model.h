// Small llama-like GGUF models for tests, with any shape and types, in one file or split.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "support/gguf_builder.h"

namespace modelutils::test {

/// A tensor as stored; `type` is ggml's id.
struct LlamaTensor {
  std::string name;
  std::vector<u64> ne;
  u32 type = 0;
  std::string data;
};

/// The ggml type ids that tests use.
enum GgmlType : u32 {
  ggml_f32 = 0,
  ggml_f16 = 1,
  ggml_q4_0 = 2,
  ggml_q4_1 = 3,
  ggml_q5_0 = 6,
  ggml_q5_1 = 7,
  ggml_q8_0 = 8,
  ggml_q2_k = 10,
  ggml_q4_k = 12,
  ggml_q5_k = 13,
  ggml_q6_k = 14,
  ggml_q8_k = 15,
  ggml_i8 = 24,
  ggml_bf16 = 30,
};

struct LlamaShape {
  std::string architecture = "llama";
  u64 layers = 2;
  u64 vocab = 12;
  u64 embed = 64;
  u64 heads = 4;
  u64 kv_heads = 2;
  u64 head_dim = 16;
  u64 intermediate = 96;
  u64 context = 24;
  u32 weight_type = ggml_q8_0;  ///< type of the matrices
  u32 down_type = ggml_q8_0;    ///< type of ffn_down
  u32 norm_type = ggml_f32;     ///< type of norms and biases
  bool qkv_bias = false;
  bool output_bias = false;
  bool mlp_bias = false;
  u32 seed = 1;  ///< for the tensors' random bytes
};

/// Returns the size of `elements` elements of a type, from the tests' own table.
u64 ggml_bytes(u32 type, u64 elements);
/// Random bytes for a tensor; float types get finite values, including subnormals.
std::string random_tensor(u32 type, u64 elements, u32 seed);

/// A model that tests may change before building it.
struct LlamaModel {
  explicit LlamaModel(const LlamaShape& shape);

  LlamaShape shape;
  float rms_eps = 1e-5f;
  float rope_theta = 10000;
  u64 alignment = 32;
  u32 version = 3;
  std::vector<LlamaTensor> tensors;
  /// Adds or replaces keys. Called last.
  std::function<void(GgufBuilder&)> more_keys;
  /// Keys to omit, without the architecture's prefix.
  std::vector<std::string> without;

  LlamaTensor& tensor(std::string_view name);
  void add(std::string name, std::vector<u64> ne, u32 type);
  /// Adds rope_freqs.weight with these values.
  void add_rope_freqs(const std::vector<float>& freqs);
  void remove(std::string_view name);

  std::string build() const;
  /// Returns `parts` files with the split keys and the tensors distributed in order.
  std::vector<std::string> build_split(u32 parts) const;

 private:
  GgufBuilder builder(bool with_keys) const;
};

}  // namespace modelutils::test
