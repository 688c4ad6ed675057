// Where a ZIP archive ends, and with it where its central directory is. Internal.
#pragma once

#include <optional>

#include "base/byte_source.h"
#include "base/finding_log.h"

namespace modelutils::pytorch {

struct ZipDirectory {
  u64 offset = 0;
  u64 bytes = 0;
  u64 count = 0;  ///< of records; they fit into `bytes`
};

/// The smallest size of a record's header in the central directory.
inline constexpr u64 central_header_bytes = 46;

/// Finds the central directory of an archive of `size` bytes, from the one end record that every reader finds. Nothing,
/// and a finding "pt-zip-end", if there is none, if there could be another one, if it does not end with the file, or if
/// the end record, the zip64 end record and the directory's place disagree. Errors: those of reading.
Result<std::optional<ZipDirectory>> find_zip_directory(const ByteSource& source, u64 size, FindingLog& findings);

}  // namespace modelutils::pytorch
