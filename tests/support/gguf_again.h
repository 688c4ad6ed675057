// Parses a document and lays it out again, for round-trip tests and the fuzzer.
#pragma once

#include "formats/gguf/parse.h"
#include "formats/gguf/write.h"

namespace modelutils::test {

/// Returns the header that the writer makes for a parsed document. Fails like copy_key() and layout(), or with
/// "test-unknown-type" for tensor types that the writer does not know.
Result<gguf::OutLayout> lay_out_again(const ByteSource& source, const gguf::Document& document);

/// Describes the first difference between two equivalent documents (keys and values, array elements, tensors,
/// alignment); empty if there is none. Positions in the file may differ.
std::string difference(const ByteSource& a_source, const gguf::Document& a, const ByteSource& b_source,
                       const gguf::Document& b);

}  // namespace modelutils::test
