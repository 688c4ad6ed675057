// The records of a ZIP archive, judged as strictly as torch's own writer makes them: whatever two readers could
// understand differently is an error. Source: docs/formats/pytorch.md, "The ZIP form".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/finding_log.h"

namespace modelutils::pytorch {

struct ZipRecord {
  std::string name;
  u64 header_offset = 0;  ///< of the local header
  u64 data_offset = 0;    ///< of the first stored byte; 0 if the local header could not be read
  u64 stored_bytes = 0;
  u64 bytes = 0;  ///< after inflating
  u32 crc32 = 0;  ///< of the inflated bytes, as the central directory says
  bool is_deflated = false;
};

struct ZipArchive {
  std::vector<ZipRecord> records;  ///< in the order of the central directory; those whose data is in the file
  bool complete = false;           ///< the central directory was found and read to its end
  FindingLog findings;             ///< "pt-zip-…"

  /// The only record of that name, or nullptr.
  const ZipRecord* find(std::string_view name) const;
};

/// The name as torch looks it up: the case of ASCII letters does not count.
std::string folded_name(std::string_view name);

/// Reads the central directory of `source` (whose size is known) and every local header; no record's data. Errors:
/// those of reading. Memory: about 120 bytes a record; time is linear but for sorting the records by their place.
/// Records that share bytes are left out but for the first.
Result<ZipArchive> read_zip(const ByteSource& source);

/// Beyond this many times its stored bytes a large deflated record is a bomb rather than weights, which hardly
/// compress.
inline constexpr u64 most_inflation = 100;
bool inflates_too_far(const ZipRecord& record);

/// What a deflated pickle may inflate to: pickles shrink to a fifth, and running one takes thirty times its bytes.
u64 most_pickle_bytes(const ZipRecord& record);

/// "pt-zip-crc"
Error wrong_crc(const ZipRecord& record, u32 crc);

/// The bytes of a record, inflated if need be, with its CRC-32 checked. Codes: "pt-record-size" above `most` bytes,
/// "pt-zip-deflate", "pt-zip-crc", those of reading.
Result<std::vector<std::byte>> read_record(const ByteSource& source, const ZipRecord& record, u64 most);

/// Does the data of a record have its CRC-32? Reads all of it, in pieces. Codes as read_record().
Status check_crc(const ByteSource& source, const ZipRecord& record);

}  // namespace modelutils::pytorch
