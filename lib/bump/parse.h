// Bytes -> bump::Document, and the search for what its header does not say. Never reads the payload.
#pragma once

#include "base/byte_source.h"
#include "bump/document.h"

namespace modelutils::bump {

/// Reads header and dtype table of `source` (of known size). Errors: those of reading, "bump-magic" if it does not
/// begin with the magic. Everything else gives a document, with findings.
Result<Document> parse(const ByteSource& source);

/// As parse(), but takes any eight bytes for the magic: to say more about a file whose magic is damaged.
Result<Document> parse_ignoring_magic(const ByteSource& source);

/// The dtype of every entry, or nothing if a code does not exist in that numbering.
std::optional<std::vector<Dtype>> dtypes_of(const Document& document, Numbering numbering);

/// Every reading that fits the file's size. What `known` gives as 0 is searched: for the kv heads every divisor of
/// num_heads is tried (no other number is possible), the intermediate size is solved for. At most `most` are returned;
/// the time does not depend on the payload.
std::vector<Reading> readings_of(const Document& document, const Geometry& known = {0, 0}, std::size_t most = 64);

/// The header's dimensions with the reading's geometry.
Dimensions dimensions_of(const Document& document, const Geometry& geometry);

/// The entries where they stand under a reading (one that readings_of() returned).
std::vector<Entry> entries_of(const Document& document, const Reading& reading);

}  // namespace modelutils::bump
