// Skips an array of a GGUF file without decoding it. Used by the parser and the array readers.
#pragma once

#include <optional>

#include "base/byte_reader.h"
#include "gguf/document.h"

namespace modelutils::gguf {

/// Maximum nesting depth of arrays that we read (the outermost array is depth 1). The format sets no limit, and the
/// reference reads no nested arrays; no known file nests deeper than two.
inline constexpr std::size_t max_array_depth = 8;

/// Bytes between the start of an array value and its first element: element type u32, count u64.
inline constexpr u64 array_head_bytes = 12;

/// Returns the minimum size of an element in bytes.
u64 min_element_bytes(ValueType type);

/// The result of scan_array().
struct ArrayScan {
  bool nested = false;          ///< the elements are arrays
  std::optional<u64> bad_bool;  ///< absolute offset of the first bool that is neither 0 nor 1
  std::optional<Error>
      problem;  ///< why the array cannot be skipped: code, offset, message. Not set if the source fails
};

/// Moves `reader` from the first element of an array to the byte after the last one. Work and memory are bounded by the
/// bytes available, not by `count`; there is no recursion. If the scan stops early, either `problem` is set or the
/// reader's source has failed.
ArrayScan scan_array(ByteReader& reader, ValueType element_type, u64 count);

}  // namespace modelutils::gguf
