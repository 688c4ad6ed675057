// Keeps a large output moving to the disk while it is written.
#pragma once

#include <mutex>

#include "base/error.h"
#include "io/atomic_output.h"

namespace modelutils {

/// Starts writing the finished beginning of an output back in large steps, so that the final sync is short, and lets go
/// of the page cache some steps behind: a model larger than memory pushes nothing else out of it, and the few pages in
/// use stay warm (a page that the machine has not touched for a while costs three times the copy into it:
/// docs/speed.md).
class WriteBack {
 public:
  explicit WriteBack(const AtomicOutput& output) : output_(output) {}

  /// All bytes before `end` are written. Cheap unless a step is full; may be called by several threads. Errors:
  /// "out-write" if the disk did not take what was written before.
  Status reached(u64 end);

 private:
  const AtomicOutput& output_;
  std::mutex mutex_;
  u64 started_ = 0;
  u64 let_go_ = 0;
};

}  // namespace modelutils
