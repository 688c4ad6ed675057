// What loaders take besides the tensors that a family's rows mean: several tensors in one, and biases that no model of
// the family has.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/expected_tensors.h"
#include "arch/family.h"
#include "tensor/types.h"

namespace modelutils::arch {

/// Does the file have a tensor of this name?
using HasTensor = std::function<bool(const std::string& name)>;

/// True if llama.cpp reads a factor (".scale", ".input_scale") beside the weight of this name ("blk.0.attn_q.weight")
/// and type, whatever the architecture.
bool takes_factor(std::string_view weight, TensorType type);

/// A tensor of a file that has the rows of several expected ones: `turns` times the pieces, one after another. The rows
/// of a part are those of its first piece in all turns, then those of its next piece in all turns.
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

/// Those of the file that the family's loader takes. `expected`: expected_tensors() of the family and `sizes`.
std::vector<FusedTensor> fused_tensors(const Family& family, const Sizes& sizes, const HasTensor& has,
                                       const std::vector<ExpectedTensor>& expected);

/// Makes of the tensors that the family's rows mean those that its loader asks of this file: fused where the file has
/// them so (their row is that of the first part), and the biases that it takes as well.
void expect_as_loaded(const Family& family, const Sizes& sizes, const HasTensor& has,
                      std::vector<ExpectedTensor>& expected);

}  // namespace modelutils::arch
