// Reads tensors' values piece by piece without loss of digits, and computes statistics of many tensors, for --values
// and --stats of the dumpers.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/parallel.h"
#include "io/standard_output.h"
#include "model/catalog.h"
#include "model/listing/listing.h"
#include "model/model.h"

namespace modelutils {

// Reads a tensor's values piece by piece, as numbers without loss of digits.

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
  // The ways of reading the elements of a type.
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

/// Returns the message about a tensor whose type is unknown to ggml, or known only to a fork of it.
std::string no_decoder_text(std::string_view type);

inline constexpr std::size_t histogram_bins = 16;

/// The statistics of one tensor, or the reason for their absence.
struct TensorStatistics {
  std::string_view name;  ///< raw text of the file
  std::string type;       ///< form of the values: "Q4_K", "affine 4-bit, group 64"
  std::optional<TensorType> stored_type;
  std::vector<u64> shape;  ///< logical, in the dimension order of the model's own format
  Statistics statistics;
  u64 dead_rows = 0;   ///< rows of a matrix that contain only zeros
  std::string digest;  ///< digest of shape and values; empty if all values are the same or there are none
  const TensorStatistics* duplicate_of = nullptr;  ///< the first tensor with the same shape and values
  std::vector<u64> histogram;  ///< counts of finite values in equal steps between min and max; empty if min equals max
  std::string problem;         ///< set instead of statistics: the tensor cannot be read, or its type has no decoder
};

/// Returns the statistics of listed tensors of the model, in their order; reads all data twice. The model must outlive
/// the result. Restarts `progress`, if any, with the number of bytes to read, and finishes it. Errors: those of
/// reading.
Result<std::vector<TensorStatistics>> statistics_of(const Model& model, std::span<const ListedTensor> tensors,
                                                    Progress* progress = nullptr, unsigned threads = default_threads());

}  // namespace modelutils
