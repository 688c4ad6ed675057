// The tensors that a GGUF of a family may or must have, with their shapes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "arch/family.h"
#include "arch/names.h"
#include "arch/sizes.h"

namespace modelutils::arch {

struct ExpectedTensor {
  std::string name;
  std::vector<u64> ne;
  Need need = Need::required;  ///< never absent
  bool must_be_f32 = false;    ///< another type loads and then aborts at the first decode
  const Tensor* row = nullptr;
  Side side = Side::weight;
  bool in_layer = false;
  u64 layer = 0;
};

/// In the order in which they are written. A shape that has no value (an unknown symbol, an overflow) is left empty.
std::vector<ExpectedTensor> expected_tensors(const Family& family, const Sizes& sizes);

/// What a row of the layers means in one of them: a weight, a bias, both or nothing.
void add_expected_tensors(const Tensor& row, const Sizes& sizes, u64 layer, std::vector<ExpectedTensor>& tensors);

/// Rows of the tensor of a GGUF that has this name; nothing if there is none.
using RowsOfTensor = std::function<std::optional<u64>(const std::string& name)>;
/// Sets the family's marks: which layers of a GGUF have the tensors that they ask for. Where llama.cpp loads a file
/// without such a tensor, others that only these layers have tell, too.
void set_marks(const Family& family, Sizes& sizes, const RowsOfTensor& rows_of);

/// The row that a mark asks for.
std::string_view tensor_of(const Mark& mark);
/// What a mark is in a layer whose tensor has so many rows; nothing: the layer has no such tensor.
u64 value_of(const Mark& mark, std::optional<u64> rows, const Sizes& sizes, u64 layer);

}  // namespace modelutils::arch
