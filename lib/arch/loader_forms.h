// What loaders take besides the tensors that a family's rows mean: queries, keys and values in one tensor, and biases
// that no model of the family has.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/expected_tensors.h"
#include "arch/family.h"

namespace modelutils::arch {

/// Does the file have a tensor of this name?
using HasTensor = std::function<bool(const std::string& name)>;

/// A tensor of a file that has the rows of several expected ones, one after another.
struct FusedTensor {
  std::string name;
  std::vector<ExpectedTensor> parts;
};

/// Those of the file that the family's loader takes. `expected`: expected_tensors() of the family.
std::vector<FusedTensor> fused_tensors(const Family& family, const HasTensor& has,
                                       const std::vector<ExpectedTensor>& expected);

/// Makes of the tensors that the family's rows mean those that its loader asks of this file: fused where the file has
/// them so (their row is that of the first part), and the biases that it takes as well.
void expect_as_loaded(const Family& family, const HasTensor& has, std::vector<ExpectedTensor>& expected);

}  // namespace modelutils::arch
