// The values of a tensor whose factors are another tensor: "X.weight" and "X.scale" of a GGUF.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "model/tensor_catalog.h"

namespace modelutils {

/// Takes the tensors "X.scale" out of the catalog that have a "X.weight", by the name of the latter; not those that are
/// tensors of the model itself.
std::map<std::string, CatalogTensor> take_scales(Catalog& catalog,
                                                 const std::function<bool(std::string_view name)>& is_own);

/// The weight times its factor, or the factor of each expert (last dimension). The catalog must outlive it.
class ScaledValues : public TensorValues {
 public:
  ScaledValues(const Catalog& catalog, const CatalogTensor& weight, const CatalogTensor& scale);

  Status read(u64 first, u64 count, StoredRows& out) const override;
  void decode(const StoredRows& rows, std::span<float> out) const override;

 private:
  const Catalog& catalog_;
  const CatalogTensor& scale_;
  MatrixValues values_;
  u64 of_factor_;  // elements with one factor
};

}  // namespace modelutils
