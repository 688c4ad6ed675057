// Reads a tensor's values piece by piece, as numbers without loss of digits.
#pragma once

#include <algorithm>
#include <vector>

#include "base/byte_reader.h"
#include "model/model.h"

namespace modelutils {

class ValueReader {
 public:
  /// `raw`: read the stored words as unsigned integers instead of decoding them. Precondition: the tensor is readable;
  /// the model must outlive the reader.
  ValueReader(const Model& model, const Tensor& tensor, bool raw);

  /// Returns the number of values.
  u64 available() const { return available_; }

  /// Calls emit(x) -> bool (false: stop) for the first `count` values, which must be available. x is a float (F64: a
  /// double), an i64 or a u64. Errors: those of reading, "tensor-no-decoder".
  template <typename Emit>
  Status read(u64 count, Emit&& emit) {
    for (u64 first = 0; first < count;) {
      const u64 now = std::min(piece_elements, count - first);
      if (form_ == Form::decoded) {
        values_.resize(now);
        MU_TRY(values_of_tensor_.read_values(first, values_));
        for (const float value : values_) {
          if (!emit(value)) return {};
        }
      } else {
        bytes_.resize(now * width_);
        MU_TRY(read_bytes(first * width_, bytes_));
        for (u64 i = 0; i < now; ++i) {
          const std::byte* at = bytes_.data() + i * width_;
          const bool more = form_ == Form::signed_word ? emit(signed_at(at, width_))
                            : form_ == Form::f64       ? emit(load<double>(at))
                                                       : emit(unsigned_at(at, width_));
          if (!more) return {};
        }
      }
      first += now;
    }
    return {};
  }

 private:
  // How elements of a type are read.
  enum class Form : u8 { decoded, unsigned_word, signed_word, f64 };
  static constexpr u64 piece_elements = 16 * 1024;

  static Form form_of(const Model& model, const Tensor& tensor, bool raw);
  /// Errors: read errors; "tensor-no-decoder" for a big-endian file.
  Status read_bytes(u64 offset, MutableBytes out) const;
  static u64 unsigned_at(const std::byte* at, u64 width);
  static i64 signed_at(const std::byte* at, u64 width);

  const Model& model_;
  const Tensor& tensor_;
  MatrixValues values_of_tensor_;
  Form form_;
  u64 width_;
  u64 available_ = 0;
  std::vector<float> values_;
  std::vector<std::byte> bytes_;
};

}  // namespace modelutils
