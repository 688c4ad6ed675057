// Produces the bytes of BUMPWGT entries from the GGUF tensors that their parts name.
#pragma once

#include <span>
#include <vector>

#include "base/byte_source.h"
#include "gguf/split_set.h"
#include "to_bump/part.h"

namespace modelutils {

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

}  // namespace modelutils
