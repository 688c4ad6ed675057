// Tensors that loaders accept beyond a family's rows: several tensors fused into one, and biases that no published
// model has.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/expected_tensors.h"
#include "arch/family.h"
#include "tensor/types.h"

namespace modelutils::arch {

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

}  // namespace modelutils::arch
