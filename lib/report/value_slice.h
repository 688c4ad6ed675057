// A slice of a tensor: --values NAME[10:20,0:4].
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/model.h"

namespace modelutils {

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

}  // namespace modelutils
