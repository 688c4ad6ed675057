// Small Hugging Face directories of every architecture, with random float32 weights, for tests.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils::test {

struct HfTensor {
  std::vector<u64> shape;  ///< row-major
  std::vector<float> values;
  TensorType type = TensorType::F32;  ///< type in the file: F32, F16, BF16, or U32 for packed codes (whole numbers)
};

/// A directory in memory. Tests may change it before write().
struct HfDirectory {
  std::map<std::string, HfTensor> tensors;
  std::map<std::string, std::string> config;  ///< JSON text by field name
  std::string format = "pt";                  ///< `format` in the metadata
  std::string tokenizer_json;                 ///< empty: no tokenizer

  void add(const std::string& name, std::vector<u64> shape);
  /// Writes all files into an existing folder.
  void write(const std::string& folder) const;
};

/// Dimensions of the generated models: 2 layers, width 64, 4 heads of size 16, 2 key/value heads, feed-forward width
/// 96, 300 tokens, 4 experts of which 2 are active.
inline constexpr u64 hf_layers = 2, hf_embd = 64, hf_heads = 4, hf_heads_kv = 2, hf_head_dim = 16, hf_ff = 96,
                     hf_vocab = 300, hf_experts = 4, hf_ff_expert = 32, hf_ff_shared = 48;

/// Returns a complete model. `model_type` is one of llama, mistral, mixtral, qwen2, qwen2_moe, qwen3, qwen3_moe, gemma,
/// gemma2, gemma3_text, phi3.
HfDirectory hf_directory(std::string_view model_type);

}  // namespace modelutils::test
