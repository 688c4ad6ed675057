// Reads the records of a ZIP archive, as strictly as torch's own writer produces them: anything that two readers could
// interpret differently is an error. Source: docs/formats/pytorch.md, "The ZIP form".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/log.h"

namespace modelutils::pytorch {

struct ZipRecord {
  std::string name;
  u64 header_offset = 0;  ///< of the local header
  u64 data_offset = 0;    ///< of the first stored byte; 0 if the local header could not be read
  u64 stored_bytes = 0;
  u64 bytes = 0;  ///< after inflating
  u32 crc32 = 0;  ///< of the inflated bytes, according to the central directory
  bool is_deflated = false;
};

struct ZipArchive {
  std::vector<ZipRecord> records;  ///< in central directory order; only those whose data is in the file
  bool complete = false;           ///< the central directory was found and read to its end
  FindingLog findings;             ///< "pt-zip-…"
};

/// Returns the name for look-ups, which in torch ignore the case of ASCII letters.
std::string folded_name(std::string_view name);

/// Reads the central directory and all local headers, but no data. The size of `source` must be known. Of records that
/// share bytes only the first is kept. Fails only if reading fails. Memory: about 120 bytes per record; time is linear,
/// except for sorting the records by offset.
Result<ZipArchive> read_zip(const ByteSource& source);

/// Maximum compression ratio of a large deflated record. Weights hardly compress; a higher ratio is a bomb.
inline constexpr u64 most_inflation = 100;
/// True if the record's ratio exceeds that maximum.
bool inflates_too_far(const ZipRecord& record);

/// Maximum inflated size of a deflated pickle. Pickles compress to about a fifth, and running one takes thirty times
/// its size in memory.
u64 most_pickle_bytes(const ZipRecord& record);

/// Returns error "pt-zip-crc" for a record whose data has the checksum `crc`.
Error wrong_crc(const ZipRecord& record, u32 crc);

/// Returns the bytes of a record, inflated and with the CRC-32 checked. Fails with "pt-record-size" above `most` bytes,
/// "pt-zip-deflate", "pt-zip-crc", or if reading fails.
Result<std::vector<std::byte>> read_record(const ByteSource& source, const ZipRecord& record, u64 most);

/// Checks the CRC-32 of a record's data, which it reads in pieces. Fails like read_record().
Status check_crc(const ByteSource& source, const ZipRecord& record);

}  // namespace modelutils::pytorch
