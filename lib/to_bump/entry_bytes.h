// The bytes that BUMPWGT entries must have, made of the GGUF tensors that their parts name.
#pragma once

#include <span>
#include <vector>

#include "base/byte_source.h"
#include "gguf/split_set.h"
#include "to_bump/part.h"

namespace modelutils {

/// What the parts of an entry make together, in bytes.
u64 bytes_of(std::span<const BumpPart> parts);

/// Reads pieces of entries; best in order. For one thread. Memory: one window of 256 KiB, whatever the tensors are.
class BumpEntryReader {
 public:
  explicit BumpEntryReader(const gguf::SplitSet& set) : set_(set) {}  ///< which must outlive it

  /// The bytes of an entry from `position` on. Precondition: it has as many. The parts must outlive the reader. Errors:
  /// those of reading the source ("io-shrunk", "io-short", "io-read").
  Status read(std::span<const BumpPart> parts, u64 position, MutableBytes out);

 private:
  Status read_part(const BumpPart& part, u64 position, MutableBytes out);
  // `wanted`: how many bytes behind `position` will be asked for at most.
  Result<std::size_t> from_source(const BumpPart& part, u64 position, MutableBytes out, u64 wanted);
  Status load_window(const BumpPart& part, u64 position, u64 wanted);
  Status read_runs(const BumpPart& part, u64 position, MutableBytes out) const;

  const gguf::SplitSet& set_;

  // What a stretch of a part's source looks like in the output (converted, where it is converted).
  const BumpPart* window_of_ = nullptr;
  std::vector<std::byte> window_;
  std::vector<std::byte> source_;
  u64 window_begin_ = 0;
};

}  // namespace modelutils
