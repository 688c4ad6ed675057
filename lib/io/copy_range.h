// Ranges of files: compares them, copies them inside the kernel or shares their blocks (reflinks) if possible, and
// writes a large output back to the disk steadily.
#pragma once

#include <mutex>
#include <string>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/types.h"
#include "io/atomic_output.h"
#include "io/random_access_file.h"

namespace modelutils {

// Compares ranges of files.

/// True if `size` bytes of `a` at `offset_a` equal those of `b` at `offset_b`. Reads both in steps of 256 KiB, up to
/// the first difference. Errors: those of reading.
Result<bool> same_bytes(const ByteSource& a, u64 offset_a, const ByteSource& b, u64 offset_b, u64 size);

// File systems on which files can share blocks until one of them is written to (reflinks).

/// Bytes per block. A shared range must begin at a multiple of it in both files.
inline constexpr u64 shared_block_bytes = 4096;

/// True if a new file in `folder` ("" is the current one) can share blocks with `source`: both are on the same file
/// system, and it is one that supports sharing (XFS, Btrfs, bcachefs).
bool may_share_blocks(const RandomAccessFile& source, const std::string& folder);

/// Appends `size` bytes of `source`, starting at `offset`, to `output`. Uses copy_file_range() if possible, otherwise a
/// buffer of 256 KiB. Errors: those of reading and of append(); "io-short" if the source ends early.
Status copy_range(const RandomAccessFile& source, u64 offset, u64 size, AtomicOutput& output);

/// The same, to byte `to` of a seekable output. Several threads may call it at once. Errors: those of reading and of
/// write_at().
Status copy_range_to(const RandomAccessFile& source, u64 offset, u64 size, const AtomicOutput& output, u64 to);

// Writes a large output back to the disk steadily while it is being written.

/// Starts write-back of the finished part of an output in large steps, so that the final sync is short. Drops older
/// steps from the page cache: an output larger than memory then does not evict other data, and the same few pages stay
/// in use (copying into a page that was not used lately takes three times as long: docs/speed.md).
class WriteBack {
 public:
  explicit WriteBack(const AtomicOutput& output) : output_(output) {}

  /// Reports that all bytes before `end` are written. Cheap unless a step is complete. Several threads may call it.
  /// Error: "out-write" if an earlier write-back failed.
  Status reached(u64 end);

 private:
  const AtomicOutput& output_;
  std::mutex mutex_;
  u64 started_ = 0;
  u64 let_go_ = 0;
};

}  // namespace modelutils
