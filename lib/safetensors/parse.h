// Bytes -> safetensors::Document. Reads the header, never the tensor data.
#pragma once

#include <string_view>

#include "base/byte_source.h"
#include "safetensors/document.h"

namespace modelutils::safetensors {

/// Is a file of this name that begins with `head` (at least file_kind_bytes of it, see io/file_kind.h) a safetensors
/// file, however broken? Yes if it begins like one, with a plausible header length and then (after white space) '{';
/// yes if its name ends in ".safetensors" and it is nothing else that we know.
bool is_safetensors(std::string_view head, std::string_view name);

/// Reads the header of `source`, which may be a pipe: nothing behind the header is read.
///
/// A file that is_safetensors() recognises gives a Document with what could be read, however broken: `complete` is
/// false if the JSON could not be read to its end, and findings of class container say where and why. Errors: those of
/// reading; "st-not-safetensors" for what is certainly something else (an empty file, an HTML page, a pickle or ZIP
/// checkpoint, a Git LFS pointer, a GGUF file, …), saying what it is.
///
/// Memory: the header's text, simdjson's index over it, and about 100 bytes for each tensor. Time is linear.
Result<Document> parse(const ByteSource& source);

}  // namespace modelutils::safetensors
