// Checksums of the bytes already read, so that verifying a record's CRC-32 need not read its data again.
#pragma once

#include <map>
#include <mutex>

#include "base/types.h"

namespace modelutils::pytorch {

/// Disjoint ranges of a file with their CRC-32. Adjacent ranges are merged, so memory does not grow when a file is read
/// from start to end, by any number of threads.
class ReadChecksums {
 public:
  struct Range {
    u64 end = 0;
    u32 crc32 = 0;
  };

  /// Records bytes read at `offset`. Ignores them if they overlap an earlier range. Thread-safe.
  void add(u64 offset, Bytes bytes);

  /// Ranges by their start. Not safe while another thread adds.
  const std::map<u64, Range>& ranges() const { return ranges_; }

 private:
  std::mutex mutex_;
  std::map<u64, Range> ranges_;
};

}  // namespace modelutils::pytorch
