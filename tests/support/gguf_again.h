// parse -> write: the same document laid out again. For round-trip tests and the fuzzer.
#pragma once

#include "gguf/parse.h"
#include "gguf/write.h"

namespace modelutils::test {

/// The header of a parsed document as the writer would make it. Errors: those of copy_key() and layout(), and
/// "test-unknown-type" for tensors that cannot be named to the writer.
Result<gguf::OutLayout> lay_out_again(const ByteSource& source, const gguf::Document& document);

/// The first difference between two documents that must say the same (keys with their values, array elements, tensors,
/// alignment), or an empty text. Positions in the file may differ.
std::string difference(const ByteSource& a_source, const gguf::Document& a, const ByteSource& b_source,
                       const gguf::Document& b);

}  // namespace modelutils::test
