// Bytes -> safetensors::Document. Reads the header, never the tensor data.
#pragma once

#include <string_view>

#include "base/byte_source.h"
#include "safetensors/document.h"

namespace modelutils::safetensors {

/// True if a file with this name that begins with `head` is a safetensors file, possibly a broken one. `head` must hold
/// file_kind_bytes, or the whole of a shorter file (io/file_kind.h). It is one if it begins with a plausible header
/// length and then, after white space, '{'; or if its name ends in ".safetensors" and it is no other format that we
/// recognise.
bool is_safetensors(std::string_view head, std::string_view name);

/// Reads the header of `source`, which may be a pipe; reads nothing after the header.
///
/// A file that is_safetensors() recognises gives a Document with the parts that could be read: `complete` is false if
/// the JSON could not be read to its end, and findings of class container give the place and the reason. Errors: read
/// errors; "st-not-safetensors" for another kind of file (an empty file, an HTML page, a pickle or ZIP checkpoint, a
/// Git LFS pointer, a GGUF file, …); the message names it.
///
/// Memory: the header's text and about 100 bytes per tensor. Time is linear.
Result<Document> parse(const ByteSource& source);

}  // namespace modelutils::safetensors
