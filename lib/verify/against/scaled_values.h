// The values of a tensor whose scale factors are in another tensor: "X.weight" and "X.scale" of a GGUF.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "model/catalog.h"

namespace modelutils {

/// Returns each tensor "X.scale" that has an "X.weight", under the name of the weight, except those for which `is_own`
/// is true: they belong to the model itself.
using Scales = std::map<std::string, const Tensor*, std::less<>>;
Scales find_scales(const Catalog& catalog, const std::function<bool(std::string_view name)>& is_own);

/// The weight multiplied by its factor, or by the factor of each expert (last dimension). The catalog must outlive it.
class ScaledValues : public TensorValues {
 public:
  ScaledValues(const Catalog& catalog, const Tensor& weight, const Tensor& scale);

  Status read(u64 first, u64 count, StoredRows& out) const override;
  void decode(const StoredRows& rows, std::span<float> out) const override;

 private:
  const Catalog& catalog_;
  const Tensor& scale_;
  MatrixValues values_;
  u64 of_factor_;  // elements that share a factor
};

}  // namespace modelutils
