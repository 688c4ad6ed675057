// Finds the end record of a ZIP archive, and thereby the central directory. Internal.
#pragma once

#include <optional>

#include "base/byte_source.h"
#include "base/finding_log.h"

namespace modelutils::pytorch {

struct ZipDirectory {
  u64 offset = 0;
  u64 bytes = 0;
  u64 count = 0;  ///< number of records; they fit into `bytes`
};

/// Minimum size of a record's header in the central directory.
inline constexpr u64 central_header_bytes = 46;

/// Finds the central directory of an archive of `size` bytes. Returns nullopt, after a finding "pt-zip-end", if the end
/// record is missing, ambiguous or not at the end of the file, or if the end record, the zip64 end record and the
/// directory's location disagree. Fails only if reading fails.
Result<std::optional<ZipDirectory>> find_zip_directory(const ByteSource& source, u64 size, FindingLog& findings);

}  // namespace modelutils::pytorch
