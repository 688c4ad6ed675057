// The values of a tensor, and statistics for all tensors: --values and --stats of the dumpers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/standard_output.h"
#include "model/listing/tensor_statistics.h"
#include "model/model.h"
#include "report/table.h"

namespace modelutils {

// A slice of a tensor: --values NAME[10:20,0:4].

/// A range for each dimension, in the order of the listing.
class ValueSlice {
 public:
  /// `text`: the text in the brackets, "10:20", "5", ":4", "2:" or empty for each dimension; trailing dimensions may be
  /// omitted. Usage errors: a malformed slice, or one outside the tensor's shape.
  static Result<ValueSlice> parse(std::string_view text, const Model& model, const Tensor& tensor);

  /// Returns the size of each range.
  std::vector<u64> shape() const;
  bool contains(u64 index) const;  ///< `index`: element number in storage order
  u64 end() const;                 ///< one past the last element in the slice

 private:
  struct Range {
    u64 begin, end, size;
  };
  std::vector<Range> ranges_;  // in the order of the listing
  bool first_is_fastest_ = false;
};

/// Splits "NAME[SLICE]" into NAME and SLICE. Returns nullopt if the text has no brackets at its end.
struct SlicedName {
  std::string_view name, slice;
};
std::optional<SlicedName> sliced_name(std::string_view text);

struct ValuesOptions {
  std::optional<u64> count;              ///< print at most this many values
  bool json = false;                     ///< {"schema":"values/1","name","type","shape","values":[…]} on one line
  bool raw = false;                      ///< print the stored words as unsigned integers instead of decoded values
  std::string path = {};                 ///< the model's path if several models are shown; otherwise empty
  std::optional<ValueSlice> slice = {};  ///< print only this slice; not combined with `raw`
};

struct StatisticsOptions {
  bool json = false;  ///< "stats/1", one object per line
  bool csv = false;
  bool first = true;      ///< with csv: print the heading
  std::string path = {};  ///< as in ValuesOptions
  std::size_t width = 0;  ///< columns of the terminal; 0: not limited
  Style style{false};
};

/// Prints one value per line: floats as the shortest decimals that read back to the same float32 (F64: the same
/// double), integers in decimal. The tensor must be readable. Errors: those of reading, "tensor-no-decoder".
Status write_values(TextOutput& out, const Model& model, const Tensor& tensor, const ValuesOptions& options);

/// Prints count, min, max, mean, standard deviation, zeros, NaN and Inf of each tensor; for a tensor without statistics
/// the reason instead.
void write_statistics(TextOutput& out, std::span<const TensorStatistics> rows, const StatisticsOptions& options);

}  // namespace modelutils
