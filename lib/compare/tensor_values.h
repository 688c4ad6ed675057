// The values of a tensor for comparison, whatever it is stored in: read as bytes first, because what is equal byte for
// byte need not be decoded.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "base/error.h"
#include "mlx/quantization.h"
#include "model/hf_model.h"
#include "model/model_view.h"
#include "model/tensor_catalog.h"
#include "to_gguf/rows.h"
#include "to_gguf/tensor_map.h"

namespace modelutils {

/// What the bytes that TensorValues::read() gives mean. Between tensors of the same storage, equal bytes are equal
/// values.
struct Storage {
  TensorType type = TensorType::F32;
  std::optional<mlx::Params> packing;
  TensorType scale_type = TensorType::F32;  ///< of packed values
  TensorType bias_type = TensorType::F32;   ///< the same
  bool big_endian = false;

  bool operator==(const Storage&) const = default;
};

/// The elements of one tensor, contiguous dimension first, in units: the smallest number of elements that can be read
/// alone (a block, a group, a row). Safe to read from several threads.
class TensorValues {
 public:
  virtual ~TensorValues() = default;

  const Storage& storage() const { return storage_; }
  u64 elements() const { return elements_; }
  /// Elements of a unit, a divisor of elements(); at least 1.
  u64 unit() const { return unit_; }
  /// Can decode() be called?
  virtual bool can_decode() const { return true; }

  /// The bytes of units [first, first + count). Errors: reading.
  virtual Status read(u64 first, u64 count, StoredRows& out) const = 0;
  /// Their values; `out` has count × unit() elements.
  virtual void decode(const StoredRows& rows, std::span<float> out) const = 0;
  /// Can decode_some() be called? Where values are made of more than their own bytes it cannot.
  virtual bool can_decode_some() const { return false; }
  /// The values of out.size() / unit() units of `rows` from the first-th on.
  virtual void decode_some(const StoredRows& /*rows*/, u64 /*first*/, std::span<float> /*out*/) const {}

 protected:
  TensorValues(Storage storage, u64 elements, u64 unit) : storage_(storage), elements_(elements), unit_(unit) {}

 private:
  Storage storage_;
  u64 elements_;
  u64 unit_;
};

/// A tensor as its catalog has it; of a type that is not known, its bytes alone. The catalog must outlive it, as what
/// the others are given must.
std::unique_ptr<TensorValues> values_for_comparison(const Catalog& catalog, const CatalogTensor& tensor);
/// A tensor of a view; of a weight that MLX packed, the logical values.
std::unique_ptr<TensorValues> values_for_comparison(const ModelView& view, const ViewTensor& tensor);
/// The GGUF tensor that a directory's tensors make.
std::unique_ptr<TensorValues> values_for_comparison(const HfModel& model, const MappedTensor& tensor);

}  // namespace modelutils
