// Compares the records of a checkpoint with their CRC-32 in the archive, computed several times faster on processors
// with carry-less multiplication. Checksums of the bytes already read save reading their data again.
#pragma once

#include <map>
#include <mutex>

#include "base/byte_reader.h"
#include "base/log.h"
#include "base/types.h"
#include "formats/pytorch/parse.h"

namespace modelutils::pytorch {

// CRC-32 as in ZIP archives and zlib, several times faster on processors with carry-less multiplication.

/// The processor's carry-less multiplication: none, or the number of bytes per instruction.
enum class CarrylessProduct : u8 { none, of_16_bytes, of_32_bytes };
/// Returns the widest variant that this machine supports.
CarrylessProduct best_carryless_product();

/// Continues `crc` with `bytes`. Start with 0.
u32 crc32_of(u32 crc, Bytes bytes, CarrylessProduct product = best_carryless_product());
/// Returns the CRC-32 of two concatenated pieces, given the CRC-32 of each and the size of the second.
u32 crc32_joined(u32 first, u32 second, u64 second_bytes);

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

/// Checks every record, reading only the parts that `read` does not cover yet. Findings, by record: "pt-zip-crc",
/// "pt-zip-deflate". Checkpoints in the legacy form have no checksums. Fails only if reading fails.
Result<FindingLog> check_records(const ByteSource& source, const Document& document, ReadChecksums& read,
                                 unsigned threads);

}  // namespace modelutils::pytorch
