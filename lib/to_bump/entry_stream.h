// The bytes that BUMPWGT entries must have, produced in order from the GGUF tensors they are made of.
#pragma once

#include <span>
#include <vector>

#include "base/byte_source.h"
#include "gguf/split_set.h"
#include "to_bump/part.h"

namespace modelutils {

/// Yields the payload of some entries one after another. Memory: one window of 256 KiB, whatever the tensors are.
class BumpEntryStream {
 public:
  /// The parts of each entry; they and the set must outlive the stream.
  using Recipes = std::vector<std::span<const BumpPart>>;
  BumpEntryStream(const gguf::SplitSet& set, Recipes recipes) : set_(set), recipes_(std::move(recipes)) {}

  struct Filled {
    std::size_t bytes = 0;  ///< less than asked for only at the end of the last entry
    bool all_zero = true;   ///< by construction: nothing in it came from a tensor
  };
  /// The next bytes. Errors: those of reading the source ("io-shrunk", "io-short", "io-read").
  Result<Filled> fill(MutableBytes out);

 private:
  Result<std::size_t> from_source(const BumpPart& part, u64 position, MutableBytes out);
  Status load_window(const BumpPart& part, u64 position);
  Status read_runs(const BumpPart& part, u64 position, MutableBytes out) const;

  const gguf::SplitSet& set_;
  Recipes recipes_;
  std::size_t entry_ = 0;
  std::size_t part_ = 0;
  u64 position_ = 0;  // in the part's output

  // What a stretch of the part's source looks like in the output (converted, where it is converted).
  std::vector<std::byte> window_;
  std::vector<std::byte> source_;
  u64 window_begin_ = 0;
  bool window_valid_ = false;
};

}  // namespace modelutils
