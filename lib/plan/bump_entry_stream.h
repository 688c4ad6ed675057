// The bytes that BUMPWGT3 entries must have, produced in order from the GGUF tensors they are made of.
#pragma once

#include <span>
#include <vector>

#include "gguf/split_set.h"
#include "plan/bump_mapping.h"

namespace modelutils {

/// Yields the payload of some entries one after another. Memory: one window of 256 KiB, whatever the tensors are.
class BumpEntryStream {
 public:
  /// Both must outlive the stream.
  BumpEntryStream(const gguf::SplitSet& set, std::span<const BumpEntry> entries) : set_(set), entries_(entries) {}

  struct Filled {
    std::size_t bytes = 0;  ///< less than asked for only at the end of the last entry
    bool all_zero = true;   ///< by construction: nothing in it came from a tensor
  };
  /// The next bytes. Errors: those of reading the source ("io-shrunk", "io-short", "io-read").
  Result<Filled> fill(MutableBytes out);

 private:
  Result<std::size_t> from_source(const BumpPart& part, u64 position, MutableBytes out);
  Status load_window(const BumpPart& part, u64 position);

  const gguf::SplitSet& set_;
  std::span<const BumpEntry> entries_;
  std::size_t entry_ = 0;
  std::size_t part_ = 0;
  u64 position_ = 0;  // in the part's output

  // What a stretch of the part's source looks like in the output (widened, where it is widened).
  std::vector<std::byte> window_;
  std::vector<std::byte> narrow_;
  u64 window_begin_ = 0;
  bool window_valid_ = false;
};

}  // namespace modelutils
