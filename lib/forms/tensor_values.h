// The values of a tensor, whatever it is stored as: the one handle that listings, statistics, comparisons and
// converters read values by. Read as bytes first, because what is equal byte for byte need not be decoded.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "forms/stored_matrix.h"

namespace modelutils {

/// The elements of one tensor, contiguous dimension first, in units: the smallest number of elements that can be read
/// alone (a block, a group, a row). Safe to read from several threads.
class TensorValues {
 public:
  virtual ~TensorValues() = default;

  /// What the bytes that read() gives mean. Between tensors of the same form, equal bytes are equal values.
  const StoredForm& form() const { return form_; }
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

  /// Any range of elements. Errors: reading; "tensor-no-decoder"; "internal" (outside of the tensor).
  Status read_values(u64 first, std::span<float> out) const;

 protected:
  TensorValues(const StoredForm& form, u64 elements, u64 unit) : form_(form), elements_(elements), unit_(unit) {}

 private:
  /// Why decode() cannot be called.
  virtual Error no_decoder() const;

  StoredForm form_;
  u64 elements_;
  u64 unit_;
};

/// What a file holds as a matrix, or any tensor as rows.
class MatrixValues : public TensorValues {
 public:
  /// `name` and `path` are for errors; the files must outlive it.
  MatrixValues(StoredMatrix matrix, std::string_view name, std::string_view path);

  bool can_decode() const override;
  Status read(u64 first, u64 count, StoredRows& out) const override;
  void decode(const StoredRows& rows, std::span<float> out) const override;
  bool can_decode_some() const override { return form().is_plain(); }
  void decode_some(const StoredRows& rows, u64 first, std::span<float> out) const override;

 private:
  Error no_decoder() const override;

  StoredMatrix matrix_;
  std::array<PlaneLayout, max_planes> layouts_;  // of a unit
  std::string name_, path_;
};

}  // namespace modelutils
