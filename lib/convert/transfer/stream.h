// Streams planned tensors into files. Several threads read and encode chunks of rows and write them in place, or in
// order into a pipe. Watchers, such as a hash, see all chunks in order. Memory does not grow with the model. Sums up
// the encoding errors.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/atomic_output.h"
#include "io/random_access_file.h"
#include "io/standard_output.h"
#include "tensor/value_sums.h"

namespace modelutils {

/// A module may become up to three tensors that are produced together, row by row: weight, scales and biases.
inline constexpr std::size_t max_parts = 3;

/// A place in a file from which bytes are copied unchanged.
struct CopiedFrom {
  const RandomAccessFile* file = nullptr;  ///< nullptr: nothing is copied
  u64 offset = 0;
};

/// A tensor, or up to max_parts tensors that are produced together.
struct StreamTensor {
  struct Part {
    u64 offset = 0;     ///< absolute offset in the file
    u64 row_bytes = 0;  ///< 0: no such part
  };
  std::size_t file = 0;
  u64 rows = 0;
  u64 granule = 1;     ///< chunks are multiples of this number of rows
  u64 chunk_rows = 0;  ///< rows per chunk; 0: as many as fit the second-level cache together with their input
  std::array<Part, max_parts> parts;
  bool is_measured = false;  ///< the encoder measures the error
  bool is_zero = false;      ///< all zeros: left as a hole in files that support it

  u64 end() const;  ///< absolute end of the last part
};

struct StreamFile {
  AtomicOutput* output = nullptr;  ///< nullptr: nothing is written, but watchers see the data
  std::string_view header;
  u64 size = 0;  ///< size of the whole file; bytes between tensors are zero
};

using EncodedParts = std::array<MutableBytes, max_parts>;

/// Fills `out` with rows [first, first + count) of the tensor with index `tensor`. `error` is not null if the tensor is
/// measured. Called concurrently; `thread` is the calling thread's number.
using EncodeRows = std::function<Status(std::size_t tensor, u64 first, u64 count, const EncodedParts& out,
                                        unsigned thread, ValueSums* error)>;

/// Receives the first part of every chunk, in order and by one thread at a time, while others encode; it costs time
/// only if it is the slowest step. Several watchers run in parallel, on different chunks.
using WatchRows = std::function<void(std::size_t tensor, Bytes rows)>;

/// Reads the input of a chunk, which the same thread then encodes. Called in order, by one thread at a time, while
/// others encode. For sources that can be read only once.
using TakeRows = std::function<Status(std::size_t tensor, u64 first, u64 count, unsigned thread)>;

/// Checks that an input pipe, which delivers the tensors in the order of `reading`, can feed an output pipe, which
/// needs them in the order of their numbers. Error: "io-pipe".
Status check_pipe_order(std::span<const std::size_t> reading, const std::string& input,
                        const std::function<std::string_view(std::size_t)>& name_of);

/// Writes headers and tensors. Tensors must be ordered by file and, for files that are not seekable, by offset; chunks
/// are processed in the same order. Files may be paused; if there are many, each is finished when it is complete. A
/// file that is not seekable must be the only one, and its tensors must have one part each. `progress` receives every
/// byte. Returns the error of each tensor, which does not depend on the number of threads.
Result<std::vector<ValueSums>> stream_tensors(std::span<const StreamFile> files, std::span<const StreamTensor> tensors,
                                              unsigned threads, const EncodeRows& encode, Progress& progress,
                                              std::span<const WatchRows> watchers = {}, const TakeRows& take = {});

/// The same with bytes that are copied from files, by the kernel if possible. `copied` has an element for each tensor:
/// one with a file stands for the bytes of any number of tensors, has one part with rows of one byte, and is not
/// encoded.
Result<std::vector<ValueSums>> stream_tensors(std::span<const StreamFile> files, std::span<const StreamTensor> tensors,
                                              std::span<const CopiedFrom> copied, unsigned threads,
                                              const EncodeRows& encode, Progress& progress);

}  // namespace modelutils
