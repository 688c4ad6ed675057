// Writes a planned BUMPWGT file, which is hashed from end to end on its way.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bump/header.h"
#include "gguf/split_set.h"
#include "io/atomic_output.h"
#include "io/progress.h"
#include "to_bump/bump5_mapping.h"
#include "to_bump/mapping.h"

namespace modelutils {

/// What the file consists of, but for the payload's bytes.
struct BumpFileImage {
  std::vector<std::byte> front;  ///< header, its checksum still to come, and dtype table
  u64 checksum_offset = 0;       ///< in the header; 32 bytes
  u64 checksum_begin = 0;        ///< what it covers: from here to the end of the payload
  u64 header_bytes = 0;
  struct Entry {
    u64 offset = 0;
    u64 size = 0;
    std::span<const BumpPart> parts;
  };
  std::vector<Entry> entries;  ///< the payload, one behind the other
  u64 payload_end = 0;
  std::string tail;  ///< behind the payload
};
BumpFileImage image_of(const BumpMapping& mapping, bump::Numbering numbering);
/// `metadata`: behind the payload, with a footer that hashes it.
BumpFileImage image_of(const Bump5Mapping& mapping, std::string metadata);

struct BumpStreamResult {
  bump::Digest sha256{};
  std::vector<std::string> entry_sha256;  ///< by entry, hexadecimal; empty unless asked for
};

/// Streams the whole file to `output`. A seekable output gets its header last, and holes where entries are nothing but
/// zeros. For others (pipes, devices) the checksum must be known first: the source is read twice, and
/// "gguf2bump-changed" tells if it was not the same both times. Does not commit.
Result<BumpStreamResult> stream_bump(const gguf::SplitSet& set, BumpFileImage image, bool hash_entries,
                                     AtomicOutput& output, Progress& progress);

}  // namespace modelutils
