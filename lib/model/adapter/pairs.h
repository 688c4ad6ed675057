// The pairs of adapters: finds them in GGUF files, and converts those of other formats to a GGUF's names and order of
// rows and columns, with stacked experts. Source: docs/formats/adapters.md.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/names.h"
#include "arch/row_view.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "base/log.h"
#include "formats/gguf/document.h"
#include "model/adapter/adapter.h"

namespace modelutils::adapter {

// LoRA adapters in GGUF files: finds the pairs. Source: docs/formats/adapters.md.

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

/// The model that an adapter is applied to.
struct Base {
  const arch::Family* family = nullptr;
  arch::Sizes sizes;
  bool is_tied = false;                      ///< it has no separate output head
  std::map<std::string, TensorType> scaled;  ///< tensors with a separate factor for their values (".scale")
};

/// A module's contribution to one slice (expert) of a tensor: the product B·A, which takes the ranks from `rank_offset`
/// on.
struct Block {
  std::size_t module = 0;  ///< index into Adapter::modules
  std::size_t use = 0;     ///< index into Pair::uses
  u64 slice = 0;           ///< slice of the tensor
  u64 source_slice = 0;    ///< slice of the module's stack
  u64 rank_offset = 0;
};

/// Maps the rows and columns of a module to those of a tensor.
struct RowUse {
  arch::RowView view;       ///< the module's rows (slices × out), or its elements if `by_element`
  u64 first_row = 0;        ///< row of the tensor (slices × rows) where the view starts
  bool by_element = false;  ///< the view maps single elements; `rows` and `columns` are equivalent to it if
                            ///< `is_product`
  bool is_product = true;
  std::vector<u64> rows;     ///< by_element: the module's row for each row of the tensor
  std::vector<u64> columns;  ///< by_element: the module's column for each column of the tensor
  float factor = 1;          ///< multiplier that the conversion applies to the tensor's values
};

/// A tensor in an adapter that replaces the base's.
struct Saved {
  std::size_t extra = 0;  ///< index into Adapter::extras
  std::string name;       ///< the base tensor's name
  RowUse use;             ///< of rows; for vectors, of elements
};

/// A pair of factors for one tensor of a GGUF.
struct Pair {
  std::string name;     ///< the base tensor's name: "blk.0.attn_q.weight"
  std::string row;      ///< the family's row: "attn_q"
  std::vector<u64> ne;  ///< shape of the base's tensor
  u64 rank = 0;         ///< large enough for the blocks of every slice
  std::vector<RowUse> uses;
  std::vector<Block> blocks;

  u64 columns() const { return ne[0]; }
  u64 rows() const { return ne.size() > 1 ? ne[1] : 1; }
  u64 slices() const { return ne.size() > 2 ? ne[2] : 1; }
  bool is_embedding() const { return row == "token_embd"; }
};

struct MappedAdapter {
  std::vector<Pair> pairs;  ///< in the order of the GGUF's tensors
  std::vector<Saved> saved;
};

/// Maps all pairs. `for_merging` includes pairs that a GGUF adapter cannot express, and tensors that replace others.
/// Errors of kind input: "adapter-target" (no such module in the model), "adapter-pair" (other sizes than the module,
/// or experts in an ambiguous layout), "adapter-merge" (only merging supports it), "adapter-tied" (PEFT's change of an
/// embedding that is also the output head). If `problems` is given, errors about single modules are added to it, and
/// the others are mapped.
Result<MappedAdapter> map_pairs(Adapter& adapter, const Base& base, bool for_merging, FindingLog* problems = nullptr);

/// Fails with "adapter-merge" at the first pair that llama.cpp would apply differently from merging, because its tensor
/// has a separate factor.
Status check_scaled(const Adapter& adapter, const Base& base, const std::vector<Pair>& pairs);

/// The factors of a pair in float32: `a` [slices, rank, columns], `b` [slices, rows, rank]. `scales` has one factor per
/// block, which is multiplied into `b`. read_pair() fails only if reading fails.
struct PairValues {
  std::vector<float> a, b;
};
Result<PairValues> read_pair(const Adapter& adapter, const Pair& pair, const std::vector<double>& scales);

/// Renames the modules "….experts" and "….experts.base_layer" to the parameters that they change, which the shapes
/// determine, and gives their factors the strides of stacks of experts: A [E·r, in] has the experts' rows
/// consecutively, B [out, r·E] has their columns interleaved. PEFT before 0.19.1 swapped the two sides. Fails with
/// "adapter-pair" if the shapes match no parameter, or one in both orientations.
Status resolve_expert_parameters(Adapter& adapter, const arch::Names& names, const arch::Sizes& sizes);

}  // namespace modelutils::adapter
