// Writes a planned BUMPWGT file and computes its hashes on the way.
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

/// The contents of the file, except for the payload's bytes.
struct BumpFileImage {
  std::vector<std::byte> front;  ///< header, without its checksum, and dtype table
  u64 checksum_offset = 0;       ///< offset in the header; 32 bytes
  u64 checksum_begin = 0;        ///< the checksum covers from here to the end of the payload
  u64 header_bytes = 0;
  struct Entry {
    u64 offset = 0;
    u64 size = 0;
    std::span<const BumpPart> parts;
  };
  std::vector<Entry> entries;  ///< the payload, contiguous
  u64 payload_end = 0;
  std::string tail;  ///< bytes after the payload
};
/// Returns the image of a plan without refusals.
BumpFileImage image_of(const BumpMapping& mapping, bump::Numbering numbering);
/// `metadata` follows the payload, with a footer that has its hash.
BumpFileImage image_of(const Bump5Mapping& mapping, std::string metadata);

struct BumpStreamResult {
  bump::Digest sha256{};
  std::vector<std::string> entry_sha256;  ///< by entry, in hexadecimal; empty unless requested
};

/// Streams the whole file to `output`. A seekable output gets its header last, and holes for entries that are all
/// zeros. Other outputs (pipes, devices) need the checksum first, so the source is read twice; the error
/// "gguf2bump-changed" means that the two passes differed. Does not commit the output.
Result<BumpStreamResult> stream_bump(const gguf::SplitSet& set, BumpFileImage image, bool hash_entries,
                                     AtomicOutput& output, Progress& progress);

}  // namespace modelutils
