// Compares the bytes of BUMPWGT entries, of any version, with the bytes computed from the source.
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

}  // namespace modelutils
