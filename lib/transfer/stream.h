// Streams planned tensors into files: chunks of rows claimed by several threads, read, encoded, written where they
// belong, or in order into a pipe; on their way others may look at all of them in order (who hashes a file). Memory
// does not grow with the model. What an encoding loses is added up here.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/atomic_output.h"
#include "io/progress.h"
#include "transfer/report.h"
#include "transfer/value_sums.h"

namespace modelutils {

/// A module may become up to three tensors that are made row by row together: a weight, its scales and its biases.
inline constexpr std::size_t max_parts = 3;

/// What is made together, as the streamer sees it.
struct StreamTensor {
  struct Part {
    u64 offset = 0;     ///< absolute in the file
    u64 row_bytes = 0;  ///< 0: there is no such part
  };
  std::size_t file = 0;
  u64 rows = 0;
  u64 granule = 1;     ///< chunks are multiples of so many rows
  u64 chunk_rows = 0;  ///< rows of a chunk; 0: what fits the second-level cache together with its input
  std::array<Part, max_parts> parts;
  bool is_measured = false;  ///< the encoder tells what it loses
  bool is_zero = false;      ///< nothing but zeros: a hole in files that can have one

  u64 end() const;  ///< absolute end of the last part
};

struct StreamFile {
  AtomicOutput* output = nullptr;  ///< nullptr: nothing is written, who watches sees what would be
  std::string_view header;
  u64 size = 0;  ///< of the whole file; bytes between tensors are zero
};

using EncodedParts = std::array<MutableBytes, max_parts>;

/// Fills `out` with rows [first, first + count) of tensor number `tensor`. `error` is given where the tensor is
/// measured. Called by several threads at once; `thread` tells them apart.
using EncodeRows = std::function<Status(std::size_t tensor, u64 first, u64 count, const EncodedParts& out,
                                        unsigned thread, ValueSums* error)>;

/// Sees the first part of every chunk, in order and never two at a time, while other threads go on: it costs no time
/// until it is the slowest. Several of them work side by side, on different chunks.
using WatchRows = std::function<void(std::size_t tensor, Bytes rows)>;

/// Reads what a chunk takes, for the encoding by the same thread that follows: in order and never two at a time, while
/// other threads encode. For sources that give their bytes once.
using TakeRows = std::function<Status(std::size_t tensor, u64 first, u64 count, unsigned thread)>;

/// Writes the headers and the tensors, which are in rising order of file, and of offset where the file is not seekable;
/// the order of the chunks is theirs. Files may be paused; where they are many, they are finished when they are whole.
/// A file that is not seekable is the only one, and its tensors have one part each. `progress` hears of every byte.
/// Gives the error of each tensor, which does not depend on the number of threads.
Result<std::vector<ValueSums>> stream_tensors(std::span<const StreamFile> files, std::span<const StreamTensor> tensors,
                                              unsigned threads, const EncodeRows& encode, Progress& progress,
                                              std::span<const WatchRows> watchers = {}, const TakeRows& take = {});

}  // namespace modelutils
