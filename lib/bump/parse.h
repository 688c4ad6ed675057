// Bytes -> bump::Document, and the search for sizes missing from the header. Never reads the payload.
#pragma once

#include "base/byte_source.h"
#include "bump/document.h"

namespace modelutils::bump {

/// Reads header and dtype table of `source`, whose size must be known. Errors: read errors; "bump-magic" if the magic
/// is wrong. Other problems are findings in the document.
Result<Document> parse(const ByteSource& source);

/// Like parse(), but accepts any magic, to diagnose a file whose magic is damaged.
Result<Document> parse_ignoring_magic(const ByteSource& source);

/// Returns the dtype of every entry, or nullopt if a code does not exist in that numbering.
std::optional<std::vector<Dtype>> dtypes_of(const Document& document, Numbering numbering);

/// Returns every reading that fits the file's size, at most `most`. Values that are 0 in `known` are searched: every
/// divisor of num_heads is tried for the key-value heads (no other number is possible), and the intermediate size is
/// solved for. The time does not depend on the payload.
std::vector<Reading> readings_of(const Document& document, const Geometry& known = {0, 0}, std::size_t most = 64);

/// Returns the header's dimensions with the reading's geometry.
Dimensions dimensions_of(const Document& document, const Geometry& geometry);

/// Returns the entries and their locations under a reading that readings_of() returned.
std::vector<Entry> entries_of(const Document& document, const Reading& reading);

}  // namespace modelutils::bump
