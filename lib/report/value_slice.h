// A part of a tensor: --values NAME[10:20,0:4].
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "listing/value_source.h"

namespace modelutils {

/// A range of each dimension, in the order in which the listing shows them.
class ValueSlice {
 public:
  /// `text`: what stands in the brackets, "10:20", "5", ":4", "2:" or nothing for each dimension; later dimensions may
  /// be left out. Usage errors: not of that form, or out of the tensor's shape.
  static Result<ValueSlice> parse(std::string_view text, const ValueSource& tensor);

  std::vector<u64> shape() const;
  bool contains(u64 index) const;  ///< of the element of that number, as stored
  u64 end() const;                 ///< behind the last element that it contains

 private:
  struct Range {
    u64 begin, end, size;
  };
  std::vector<Range> ranges_;  // in the order of the listing
  bool first_is_fastest_ = false;
};

/// The end of "NAME[SLICE]": NAME and SLICE; nothing if it has no brackets.
struct SlicedName {
  std::string_view name, slice;
};
std::optional<SlicedName> sliced_name(std::string_view text);

}  // namespace modelutils
