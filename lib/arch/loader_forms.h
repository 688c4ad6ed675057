// What llama.cpp's loader accepts: the tensors that a GGUF of a family must or may have, with their shapes; tensors
// fused into one and biases that no published model has; the pairs of a LoRA adapter that it applies. Source of the
// last: logits of 81 models with a pair on every matrix, compared with those of merged files
// (docs/formats/adapters.md).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "arch/names.h"
#include "arch/sizes.h"
#include "tensor/types.h"

namespace modelutils::arch {

// The tensors that a GGUF of a family must or may have, with their shapes.

struct ExpectedTensor {
  std::string name;
  std::vector<u64> ne;
  Need need = Need::required;  ///< never Need::absent
  bool must_be_f32 = false;    ///< another type loads, but aborts in the first decode
  const Tensor* row = nullptr;
  Side side = Side::weight;
  bool in_layer = false;
  u64 layer = 0;
};

/// Returns the tensors in output order. A shape without a value (an unknown symbol, an overflow) is empty.
std::vector<ExpectedTensor> expected_tensors(const Family& family, const Sizes& sizes);

/// Adds the tensors that a layer row stands for in `layer`: a weight, a bias, both or none.
void add_expected_tensors(const Tensor& row, const Sizes& sizes, u64 layer, std::vector<ExpectedTensor>& tensors);

/// Returns the number of rows of the named GGUF tensor, or nullopt if it is absent.
using RowsOfTensor = std::function<std::optional<u64>(const std::string& name)>;
/// Sets the family's marks for each layer from the tensors that a GGUF has. A mark (Family::marks) is a symbol that is
/// 1 in layers that have its tensor. If llama.cpp also loads files without that tensor, other tensors that only such
/// layers have set the mark, too.
void set_marks(const Family& family, Sizes& sizes, const RowsOfTensor& rows_of);

/// Returns the row that a mark refers to.
std::string_view tensor_of(const Mark& mark);
/// Returns the value of a mark in a layer whose marked tensor has this many rows (nullopt: the tensor is absent).
u64 value_of(const Mark& mark, std::optional<u64> rows, const Sizes& sizes, u64 layer);

/// Returns whether the file has a tensor of this name.
using HasTensor = std::function<bool(const std::string& name)>;

/// True if llama.cpp reads a factor (".scale", ".input_scale") for the weight of this name ("blk.0.attn_q.weight") and
/// type, in any architecture.
bool takes_factor(std::string_view weight, TensorType type);

/// A tensor that holds the rows of several expected ones, as `turns` repetitions of the pieces. A part consists of its
/// first piece from every turn, then its next piece from every turn, and so on.
struct FusedTensor {
  struct Piece {
    std::size_t part = 0;
    u64 rows = 0;
  };

  std::string name;
  std::vector<ExpectedTensor> parts;
  u64 turns = 1;
  std::vector<Piece> pieces;
};

/// Returns the file's fused tensors that the family's loader accepts. `expected` is expected_tensors() of the family
/// and `sizes`.
std::vector<FusedTensor> fused_tensors(const Family& family, const Sizes& sizes, const HasTensor& has,
                                       const std::vector<ExpectedTensor>& expected);

/// Changes `expected` from the tensors of the family's rows to those that its loader asks for in this file: fused
/// tensors if the file has them (with the first part's row), and the biases that the loader accepts.
void expect_as_loaded(const Family& family, const Sizes& sizes, const HasTensor& has,
                      std::vector<ExpectedTensor>& expected);

// Which pairs of a LoRA adapter llama.cpp applies. Source: logits of 81 models with a pair on every matrix, compared
// with those of merged files (docs/formats/adapters.md).

/// Returns why llama.cpp does not apply a pair on tensor `row` ("attn_q_a") as merging would, as the end of a sentence
/// about the pair, or an empty view if it does. `is_tied`: the model has no separate output head, or none at all.
std::string_view pair_is_lost(const Family& family, std::string_view row, bool is_tied);

/// The same for a tensor of `type` that has a factor for its values beside it (".scale"). build_lora_mm() multiplies by
/// the factor before adding the pair, build_ffn() after. Source: llama-graph.cpp of September 2026.
std::string_view scaled_pair_is_lost(const Family& family, std::string_view row, TensorType type);
/// True if llama.cpp aborts because of such a pair.
bool scaled_pair_aborts(std::string_view row, TensorType type);

/// Returns the weight that a factor belongs to: "blk.0.ffn_up.weight" for "blk.0.ffn_up.scale". A factor is one number,
/// or one per expert. Returns nullopt for other names, and if the family has a tensor of this name with another meaning
/// (Gemma 4).
std::optional<std::string> weight_of_scale(const Names& names, std::string_view tensor);

}  // namespace modelutils::arch
