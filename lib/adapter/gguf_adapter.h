// LoRA adapters as GGUF files: which tensors are pairs. Facts: docs/formats/adapters.md.
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

/// A tensor of the base and the two that change it; views into the document.
struct GgufPair {
  std::string_view target;  ///< "blk.0.attn_q.weight"
  const gguf::TensorInfo* a = nullptr;
  const gguf::TensorInfo* b = nullptr;

  /// The roles of a table that is looked up are exchanged: a {r, rows}, b {r, columns}.
  bool is_embedding() const { return target == "token_embd.weight"; }
  u64 rank() const;
  u64 columns() const;  ///< ne0 of the base's tensor
  u64 rows() const;     ///< ne1
  u64 slices() const;   ///< ne2, of experts
};

struct GgufAdapter {
  std::optional<double> alpha;  ///< adapter.lora.alpha
  std::vector<GgufPair> pairs;  ///< whole ones, in the order of their first tensor

  /// By what the product of a pair counts: alpha / rank; 1 where alpha is 0 or not stated.
  double scale_of(const GgufPair& pair) const;
};

/// Nothing if the keys do not call it a LoRA adapter.
std::optional<GgufAdapter> gguf_adapter(const gguf::Document& document, const gguf::Index& index);

/// Is a tensor of an adapter, by its name in any form (GGUF, PEFT, mlx-lm), the B of a pair: all zero until the
/// adapter is trained?
bool is_b(std::string_view tensor);

}  // namespace modelutils::adapter
