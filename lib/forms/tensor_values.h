// Reads and decodes the values of a tensor in any form, for listings, statistics, comparisons and converters. Reading
// and decoding are separate, because values that are equal byte for byte need not be decoded.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "forms/stored_form.h"

namespace modelutils {

/// The elements of one tensor, contiguous dimension first. They are read in units, the smallest number of elements that
/// can be decoded alone (a block, a group, a row). Thread-safe.
class TensorValues {
 public:
  virtual ~TensorValues() = default;

  /// Returns the form of the bytes returned by read(). For tensors of the same form, equal bytes mean equal values.
  const StoredForm& form() const { return form_; }
  u64 elements() const { return elements_; }
  /// Elements per unit; at least 1, and a divisor of elements().
  u64 unit() const { return unit_; }
  /// True if decode() may be called.
  virtual bool can_decode() const { return true; }

  /// Reads units [first, first + count). Fails only if reading fails.
  virtual Status read(u64 first, u64 count, StoredRows& out) const = 0;
  /// Decodes units returned by read(); `out` must have count × unit() elements.
  virtual void decode(const StoredRows& rows, std::span<float> out) const = 0;
  /// True if decode_some() may be called. False if values depend on more than their own bytes.
  virtual bool can_decode_some() const { return false; }
  /// Decodes out.size() / unit() units of `rows`, starting with unit `first`.
  virtual void decode_some(const StoredRows& /*rows*/, u64 /*first*/, std::span<float> /*out*/) const {}

  /// Reads and decodes any range of elements. Fails if reading fails, with "tensor-no-decoder", or with "internal" for
  /// a range outside of the tensor.
  Status read_values(u64 first, std::span<float> out) const;

 protected:
  TensorValues(const StoredForm& form, u64 elements, u64 unit) : form_(form), elements_(elements), unit_(unit) {}

 private:
  /// Returns the error of read_values() if can_decode() is false.
  virtual Error no_decoder() const;

  StoredForm form_;
  u64 elements_;
  u64 unit_;
};

/// The values of a matrix in a file; other tensors are treated as matrices, too.
class MatrixValues : public TensorValues {
 public:
  /// `name` and `path` are for error messages. The files must outlive this object.
  MatrixValues(StoredMatrix matrix, std::string_view name, std::string_view path);

  bool can_decode() const override;
  Status read(u64 first, u64 count, StoredRows& out) const override;
  void decode(const StoredRows& rows, std::span<float> out) const override;
  bool can_decode_some() const override { return form().is_plain(); }
  void decode_some(const StoredRows& rows, u64 first, std::span<float> out) const override;

 private:
  Error no_decoder() const override;

  StoredMatrix matrix_;
  std::array<PlaneLayout, max_planes> layouts_;  // layouts per unit
  std::string name_, path_;
};

}  // namespace modelutils
