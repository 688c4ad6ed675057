// Bytes -> gguf::Document. One pass over the header, never over the tensor data.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/byte_source.h"
#include "gguf/document.h"

namespace modelutils::gguf {

/// Reads the header of `source`.
///
/// Errors (nothing could be recognised): those of reading, "gguf-magic" (with a helpful word on what the file is
/// instead). Everything else, however broken, gives a Document with what could be read, `complete` false and a finding
/// of class container that says where and why it stopped. Never allocates or loops by a count that the bytes left
/// cannot hold; 100,000 tensors take well under a second.
Result<Document> parse(const ByteSource& source);

/// What a string array's element holds, in order; stop by returning false.
using StringVisitor = std::function<bool(u64 index, std::string_view text, u64 offset)>;

/// Calls `visit` for every string of the array. The views live only during the call. Errors: reading.
Status visit_strings(const ByteSource& source, const Document& document, const ArrayRef& array,
                     const StringVisitor& visit);

/// The elements of a numeric (or bool) array converted to T (double, i64 or u64: values that T cannot hold saturate).
/// At most `most` elements from `first` on.
template <typename T>
Result<std::vector<T>> read_numbers(const ByteSource& source, const Document& document, const ArrayRef& array,
                                    u64 first = 0, u64 most = ~u64{0});

/// All strings of an array (at most `most`), copied.
Result<std::vector<std::string>> read_strings(const ByteSource& source, const Document& document, const ArrayRef& array,
                                              u64 most = ~u64{0});

/// The first `most` elements of any array, arrays of arrays included, as Values (ArrayRef for inner arrays).
Result<std::vector<Value>> read_values(const ByteSource& source, const Document& document, const ArrayRef& array,
                                       u64 most = ~u64{0});

/// Told what an array holds, in the order of the file. Each function returns false to stop.
class ArrayVisitor {
 public:
  virtual ~ArrayVisitor() = default;
  virtual bool begin() = 0;                      ///< an inner array begins; what follows are its elements
  virtual bool end() = 0;                        ///< the inner array that began last ends
  virtual bool text(std::string_view text) = 0;  ///< valid during the call only
  virtual bool scalar(const Value& value) = 0;   ///< neither string nor array
};

/// Visits all elements of an array of any type, those of inner arrays too. Reads every byte once, whatever the nesting.
/// Errors: reading, "io-short" if the file has changed.
Status visit_array(const ByteSource& source, const Document& document, const ArrayRef& array, ArrayVisitor& visitor);

}  // namespace modelutils::gguf
