// Bytes -> gguf::Document. Reads the header in one pass and never the tensor data.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/byte_reader.h"
#include "formats/gguf/document.h"

namespace modelutils::gguf {

/// Reads the header of `source`.
///
/// Errors: read errors, and "gguf-magic" if this is not a GGUF file; its message names the actual format if known. Any
/// other damage gives a Document with the parts that could be read, `complete` false, and a finding of class container
/// that gives the place and the reason. Never allocates or loops by a count that exceeds the remaining bytes; 100,000
/// tensors take well under a second.
Result<Document> parse(const ByteSource& source);

/// Called with each string of an array, in order. Returns false to stop.
using StringVisitor = std::function<bool(u64 index, std::string_view text, u64 offset)>;

/// Calls `visit` for every string of the array. The views are valid only during the call. Errors: read errors.
Status visit_strings(const ByteSource& source, const Document& document, const ArrayRef& array,
                     const StringVisitor& visit);

/// Calls `visit` for the strings with these indexes, which must be ascending and less than the array's count. Skips to
/// them with the help of Document::string_marks. Errors: read errors.
Status visit_strings_at(const ByteSource& source, const Document& document, const ArrayRef& array,
                        std::span<const u64> indexes, const StringVisitor& visit);

/// Returns at most `most` elements of a numeric or bool array, starting at `first`, converted to T (double, i64 or
/// u64). Values outside T's range saturate.
template <typename T>
Result<std::vector<T>> read_numbers(const ByteSource& source, const Document& document, const ArrayRef& array,
                                    u64 first = 0, u64 most = ~u64{0});

/// Copies all strings of an array, at most `most`.
Result<std::vector<std::string>> read_strings(const ByteSource& source, const Document& document, const ArrayRef& array,
                                              u64 most = ~u64{0});

/// Returns the first `most` elements of any array as Values; nested arrays are ArrayRefs.
Result<std::vector<Value>> read_values(const ByteSource& source, const Document& document, const ArrayRef& array,
                                       u64 most = ~u64{0});

/// Receives an array's elements in file order. Each function returns false to stop.
class ArrayVisitor {
 public:
  virtual ~ArrayVisitor() = default;
  virtual bool begin() = 0;                      ///< an inner array begins; its elements follow
  virtual bool end() = 0;                        ///< the innermost open array ends
  virtual bool text(std::string_view text) = 0;  ///< the view is valid only during the call
  virtual bool scalar(const Value& value) = 0;   ///< neither string nor array
};

/// Visits all elements of an array of any type, including those of inner arrays. Reads each byte once, at any nesting
/// depth. Errors: read errors; "io-short" if the file has changed.
Status visit_array(const ByteSource& source, const Document& document, const ArrayRef& array, ArrayVisitor& visitor);

}  // namespace modelutils::gguf
