// Writes a planned BUMPWGT file: fixed buffers, hashed on another thread while they are written.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bump/header.h"
#include "gguf/split_set.h"
#include "io/atomic_output.h"
#include "io/progress.h"
#include "to_bump/entry_stream.h"
#include "to_bump/mapping.h"
#include "to_bump/v5_mapping.h"

namespace modelutils {

/// What the file consists of, but for the payload's bytes.
struct BumpFileImage {
  std::vector<std::byte> front;  ///< header, its checksum still to come, and dtype table
  u64 checksum_offset = 0;       ///< in the header; 32 bytes
  u64 checksum_begin = 0;        ///< what it covers: from here to the end of the payload
  u64 header_bytes = 0;
  BumpEntryStream::Recipes recipes;  ///< the payload, entry by entry
  /// Where each entry is: offset, size.
  std::vector<std::pair<u64, u64>> extents;
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

/// Streams the whole file to `output`. A seekable output gets its header last, and holes where whole buffers are zeros.
/// For others (pipes, devices) the checksum must be known first: the source is read twice, and "gguf2bump-changed"
/// tells if it was not the same both times. Does not commit.
Result<BumpStreamResult> stream_bump(const gguf::SplitSet& set, BumpFileImage image, bool hash_entries,
                                     AtomicOutput& output, Progress& progress);

}  // namespace modelutils
