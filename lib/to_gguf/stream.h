// Streams planned tensors into GGUF files: chunks of rows claimed by several threads, read, repacked, written in place;
// or in order into a pipe. Memory does not grow with the model.
#pragma once

#include <functional>
#include <vector>

#include "base/error.h"
#include "gguf/write.h"
#include "io/atomic_output.h"
#include "io/progress.h"
#include "tensor/types.h"

namespace modelutils::to_gguf {

/// One tensor as the streamer sees it.
struct StreamTensor {
  u64 offset = 0;     ///< absolute in its output file
  u64 row_bytes = 0;  ///< in the output
  u64 rows = 0;
  u64 granule = 1;  ///< chunks are multiples of so many rows
};

/// Fills `out` with rows [first, first + count) of tensor number `tensor`. Called by several threads at once; `thread`
/// tells them apart.
using EncodeRows = std::function<Status(std::size_t tensor, u64 first, u64 count, MutableBytes out, unsigned thread)>;

/// Writes the header and then every tensor (in rising order of offset) of one file. The bytes between tensors are
/// zero. `progress` hears of every byte.
Status stream_gguf(AtomicOutput& output, const gguf::OutLayout& layout, const std::vector<StreamTensor>& tensors,
                   unsigned threads, const EncodeRows& encode, Progress& progress);

}  // namespace modelutils::to_gguf
