// The checksums of what was read of a file: a record whose values were looked at is not read a second time for its
// CRC-32.
#pragma once

#include <map>
#include <mutex>

#include "base/types.h"

namespace modelutils::pytorch {

/// Ranges of a file that do not overlap, each with its CRC-32. Ranges that touch become one, so that memory does not
/// grow with a file that is read from its beginning to its end, by however many threads.
class ReadChecksums {
 public:
  struct Range {
    u64 end = 0;
    u32 crc32 = 0;
  };

  /// These bytes were read at `offset`. What shares bytes with an earlier range is left out. From any thread.
  void add(u64 offset, Bytes bytes);

  /// By their beginnings. Not while others add.
  const std::map<u64, Range>& ranges() const { return ranges_; }

 private:
  std::mutex mutex_;
  std::map<u64, Range> ranges_;
};

}  // namespace modelutils::pytorch
