// Passing over an array of a GGUF file without decoding it. For the parser and the array readers.
#pragma once

#include <optional>

#include "base/byte_reader.h"
#include "gguf/document.h"

namespace modelutils::gguf {

/// Arrays in arrays are read to this depth (the outermost array is depth 1). The format has no limit, the reference
/// reads none at all; no file is known that has more than two.
inline constexpr std::size_t max_array_depth = 8;

/// Bytes of an array value before its first element: element type u32, count u64.
inline constexpr u64 array_head_bytes = 12;

/// The fewest bytes that an element can take.
u64 min_element_bytes(ValueType type);

/// What was met on the way.
struct ArrayScan {
  bool nested = false;          ///< the elements are arrays
  std::optional<u64> bad_bool;  ///< absolute offset of the first bool that is neither 0 nor 1
  std::optional<Error>
      problem;  ///< why the array cannot be passed: code, offset, message. Not set for a source that fails
};

/// Moves `reader` from the first element of an array to behind the last one. Work and memory are bounded by the bytes
/// that are there, whatever `count` says; nothing recurses. If it stops early, `problem` is set or the reader's source
/// failed.
ArrayScan scan_array(ByteReader& reader, ValueType element_type, u64 count);

}  // namespace modelutils::gguf
