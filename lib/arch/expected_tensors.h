// The tensors that a GGUF of a family must or may have, with their shapes.
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
/// Sets the family's marks for each layer from the tensors that a GGUF has. If llama.cpp loads files without a marked
/// tensor, other tensors that only marked layers have also count.
void set_marks(const Family& family, Sizes& sizes, const RowsOfTensor& rows_of);

/// Returns the row that a mark refers to.
std::string_view tensor_of(const Mark& mark);
/// Returns a mark's value in a layer whose tensor has this many rows; nullopt means that the tensor is absent.
u64 value_of(const Mark& mark, std::optional<u64> rows, const Sizes& sizes, u64 layer);

}  // namespace modelutils::arch
