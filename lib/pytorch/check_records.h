// Do the records of a checkpoint have the checksums that the archive says?
#pragma once

#include "base/byte_source.h"
#include "base/finding_log.h"
#include "pytorch/document.h"
#include "pytorch/read_checksums.h"

namespace modelutils::pytorch {

/// Reads of every record what `read` does not have yet. Findings "pt-zip-crc", "pt-zip-deflate", by record. The legacy
/// form has no checksums. Errors: those of reading.
Result<FindingLog> check_records(const ByteSource& source, const Document& document, ReadChecksums& read,
                                 unsigned threads);

}  // namespace modelutils::pytorch
