// verify --against MODEL.gguf WEIGHTS.bump for BUMPWGT4 and BUMPWGT5: compares every entry, every header field and
// every number in the engine's configuration with the source. The bytes of entries are compared in the same way for
// any version.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "convert/to_bump/source.h"
#include "formats/gguf/split_set.h"
#include "rules/formats.h"

namespace modelutils {

// Compares the bytes of BUMPWGT entries, of any version, with the bytes computed from the source.

/// An entry in the file and the source of its expected bytes.
struct EntryPair {
  std::string name;
  u64 offset = 0;  ///< absolute offset in the file
  u64 size = 0;
  std::vector<BumpPart> parts;
  std::string source;  ///< the source as named in messages
};

/// Compares all entries, several at a time. Logs the first differing byte of each ("parity-differs"), or "parity-size"
/// if the source yields a different byte count. An unreadable file ends the comparison with that finding. Errors:
/// reading the source.
Status compare_entries(const gguf::SplitSet& set, const ByteSource& file, std::span<const EntryPair> pairs,
                       FindingLog& log);

/// True if the entry's bytes in the file equal the bytes computed from the source. False if the file cannot be read.
/// Errors: reading the source.
Result<bool> has_bytes_of_source(const gguf::SplitSet& set, const ByteSource& file, const EntryPair& pair);

/// Compares a BUMPWGT4 or BUMPWGT5 file with its source. Findings: "parity-field" (a header field or a number in the
/// manifest's config), "parity-differs" (an entry, with the offset of its first differing byte), "parity-size" (an
/// entry's size differs from the source's), "parity-not-carried" (a warning: the format has no entry for a source
/// tensor), "parity-context" (a note). Errors: the source cannot be read or has no BUMPWGT5 form.
Result<FindingLog> compare_bump5_with_gguf(const CheckedModel& checked, const Model& converted, Model source);

}  // namespace modelutils
