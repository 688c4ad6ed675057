// Writes a large output back to the disk steadily while it is being written.
#pragma once

#include <mutex>

#include "base/error.h"
#include "io/atomic_output.h"

namespace modelutils {

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
