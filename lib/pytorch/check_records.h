// Compares the records of a checkpoint with their CRC-32 in the archive.
#pragma once

#include "base/byte_source.h"
#include "base/finding_log.h"
#include "pytorch/document.h"
#include "pytorch/read_checksums.h"

namespace modelutils::pytorch {

/// Checks every record, reading only the parts that `read` does not cover yet. Findings, by record: "pt-zip-crc",
/// "pt-zip-deflate". Checkpoints in the legacy form have no checksums. Fails only if reading fails.
Result<FindingLog> check_records(const ByteSource& source, const Document& document, ReadChecksums& read,
                                 unsigned threads);

}  // namespace modelutils::pytorch
