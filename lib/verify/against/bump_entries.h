// The bytes of BUMPWGT entries, of any version, beside those that the source gives.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/finding_log.h"
#include "gguf/split_set.h"
#include "to_bump/part.h"

namespace modelutils {

/// An entry as it stands in the file, and what it must be made of.
struct EntryPair {
  std::string name;
  u64 offset = 0;  ///< absolute in the file
  u64 size = 0;
  std::vector<BumpPart> parts;
  std::string source;  ///< what its bytes come from, as messages say it
};

/// Compares all entries, several at a time, and logs for each the first byte that differs ("parity-differs"), or else
/// that the source gives another number of bytes ("parity-size"). A file that cannot be read ends it with that finding.
/// Errors: reading the source.
Status compare_entries(const gguf::SplitSet& set, const ByteSource& file, std::span<const EntryPair> pairs,
                       FindingLog& log);

/// Does the file have the bytes that the source gives for an entry? Not if it cannot be read. Errors: reading the
/// source.
Result<bool> has_bytes_of_source(const gguf::SplitSet& set, const ByteSource& file, const EntryPair& pair);

}  // namespace modelutils
