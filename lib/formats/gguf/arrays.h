// Arrays of a GGUF file: skipped without decoding, or read in several steps without keeping what was read.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "formats/gguf/document.h"

namespace modelutils::gguf {

// Skips an array of a GGUF file without decoding it. Used by the parser and the array readers.

/// Maximum nesting depth of arrays that we read (the outermost array is depth 1). The format sets no limit, and the
/// reference reads no nested arrays; no known file nests deeper than two.
inline constexpr std::size_t max_array_depth = 8;

/// Bytes between the start of an array value and its first element: element type u32, count u64.
inline constexpr u64 array_head_bytes = 12;

/// Returns the minimum encoded size of an element in bytes.
u64 min_element_bytes(ValueType type);

/// The result of scan_array().
struct ArrayScan {
  bool nested = false;          ///< the elements are arrays
  std::optional<u64> bad_bool;  ///< absolute offset of the first bool that is neither 0 nor 1
  std::optional<Error>
      problem;  ///< why the array cannot be skipped: code, offset, message. Not set if the source fails
};

/// Facts that scan_array() records about an array of strings, so that later readers need not visit every string again.
struct StringNotes {
  std::vector<StringMark>* marks = nullptr;
  std::vector<u64>* end_tokens = nullptr;  ///< indexes of the strings that are end_texts(); nullptr if not wanted
};

/// Moves `reader` from the first element of an array to the byte after the last one. Work and memory are bounded by the
/// bytes available, not by `count`; there is no recursion. If the scan stops early, either `problem` is set or the
/// reader's source has failed.
ArrayScan scan_array(ByteReader& reader, ValueType element_type, u64 count, const StringNotes& notes = {});

// Reads an array of strings in several steps without keeping what was read.

/// Consumes a string and returns true, or returns false to stop before it.
using StringTaker = std::function<bool(std::string_view text)>;

/// Resumes reading an array of strings. `position` is 0 or the value left by an earlier call: a byte offset in the
/// array, equal to its size at the end. Stops after the last string consumed. Errors: read errors; "io-short" also if
/// no string begins at `position`.
Status take_strings(const ByteSource& source, const Document& document, const ArrayRef& array, u64& position,
                    const StringTaker& take);

}  // namespace modelutils::gguf
