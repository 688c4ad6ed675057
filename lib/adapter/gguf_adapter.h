// LoRA adapters in GGUF files: finds the pairs. Source: docs/formats/adapters.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/document.h"
#include "gguf/keys.h"

namespace modelutils::adapter {

inline constexpr std::string_view a_ending = ".lora_a";
inline constexpr std::string_view b_ending = ".lora_b";

/// The base's tensor and the two factors that change it; views into the document.
struct GgufPair {
  std::string_view target;  ///< "blk.0.attn_q.weight"
  const gguf::TensorInfo* a = nullptr;
  const gguf::TensorInfo* b = nullptr;

  /// For an embedding, which is looked up rather than multiplied, the roles are exchanged: a {r, rows}, b {r, columns}.
  bool is_embedding() const { return target == "token_embd.weight"; }
  /// Returns the rank of the two factors.
  u64 rank() const;
  u64 columns() const;  ///< ne0 of the base's tensor
  u64 rows() const;     ///< ne1
  u64 slices() const;   ///< ne2: the number of experts
};

struct GgufAdapter {
  std::optional<double> alpha;  ///< adapter.lora.alpha
  std::vector<GgufPair> pairs;  ///< complete pairs, in the order of their first tensor

  /// Returns the factor of the pair's product: alpha / rank, or 1 if alpha is 0 or missing.
  double scale_of(const GgufPair& pair) const;
};

/// Returns nullopt unless the keys declare a LoRA adapter.
std::optional<GgufAdapter> gguf_adapter(const gguf::Document& document, const gguf::Index& index);

/// True if the name, in GGUF's, PEFT's or mlx-lm's form, is that of a pair's factor B, which is all zero before
/// training.
bool is_b(std::string_view tensor);

}  // namespace modelutils::adapter
