// Bytes -> safetensors::Document. Reads the header, never the tensor data.
#pragma once

#include "base/byte_source.h"
#include "safetensors/document.h"

namespace modelutils::safetensors {

/// Does the file begin like a safetensors file: a plausible header length, then (after white space) '{'? For format
/// detection of files with any name; never fails.
bool is_safetensors(const ByteSource& source);

/// Reads the header of `source`, which may be a pipe: nothing behind the header is read.
///
/// A file whose name ends in ".safetensors" or that is_safetensors() recognises gives a Document with what could be
/// read, however broken: `complete` is false if the JSON could not be read to its end, and findings of class container
/// say where and why. Errors: those of reading; "st-not-safetensors" for what is certainly something else (an empty
/// file, an HTML page, a pickle or ZIP checkpoint, a Git LFS pointer, a GGUF file, …), saying what it is.
///
/// Memory: the header's text, simdjson's index over it, and about 100 bytes for each tensor. Time is linear. Of each
/// finding code at most `max_findings_of_a_code` are kept, then one more says that there are others.
Result<Document> parse(const ByteSource& source);

inline constexpr std::size_t max_findings_of_a_code = 64;

}  // namespace modelutils::safetensors
