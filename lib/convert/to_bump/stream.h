// Produces the bytes of BUMPWGT entries from the GGUF tensors that their parts name, writes a planned file and
// computes its hashes on the way.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "convert/to_bump/bump5_mapping.h"
#include "convert/to_bump/mapping.h"
#include "convert/to_bump/source.h"
#include "formats/bump/header.h"
#include "formats/gguf/split_set.h"
#include "io/atomic_output.h"
#include "io/standard_output.h"

namespace modelutils {

// Produces the bytes of BUMPWGT entries from the GGUF tensors that their parts name.

/// Returns the size of an entry with these parts.
u64 bytes_of(std::span<const BumpPart> parts);

/// Reads pieces of entries; fastest in order. Not thread-safe. Memory: one window of 256 KiB, regardless of tensor
/// sizes.
class BumpEntryReader {
 public:
  explicit BumpEntryReader(const gguf::SplitSet& set) : set_(set) {}  ///< `set` must outlive the reader

  /// Reads an entry's bytes starting at `position`. Preconditions: the entry is long enough, and the parts outlive the
  /// reader. Errors: read errors of the source ("io-shrunk", "io-short", "io-read").
  Status read(std::span<const BumpPart> parts, u64 position, MutableBytes out);

 private:
  Status read_part(const BumpPart& part, u64 position, MutableBytes out);
  // `wanted`: the maximum number of bytes after `position` that will be requested.
  Result<std::size_t> from_source(const BumpPart& part, u64 position, MutableBytes out, u64 wanted);
  Status load_window(const BumpPart& part, u64 position, u64 wanted);
  Status read_runs(const BumpPart& part, u64 position, MutableBytes out) const;

  const gguf::SplitSet& set_;

  // A section of a part's source in its output form, converted if necessary.
  const BumpPart* window_of_ = nullptr;
  std::vector<std::byte> window_;
  std::vector<std::byte> source_;
  u64 window_begin_ = 0;
};

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
