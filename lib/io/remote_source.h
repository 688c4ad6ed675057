// A file at an address. Only the ranges that are read are transferred.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "io/random_access_file.h"

namespace modelutils {

/// Opens the file at an address (io/remote_address.h) and reads its first 64 KiB, or all of a text file. A GGUF header
/// is kept in memory and read in growing steps, so a header of 10 MB takes six requests; the limit is 64 MiB
/// ("remote-answer"). Other ranges are read on request, with read-ahead for sequential readers. A file is opened once;
/// later calls return the same one. Returns a RandomAccessFile if the server reports the file's length or the file is
/// short. Codes: those of resolve_address(), check_online() and FetchedFile.
Result<std::shared_ptr<ByteSource>> open_remote(const std::string& path);

/// Like open_remote(), for callers that need a file of known length.
Result<std::shared_ptr<RandomAccessFile>> open_remote_file(const std::string& path);

/// Opens several files concurrently to save time. An error is reported when the file is opened next, without another
/// request. After one network failure, no further requests are started. `headers`, if not empty, gives the header
/// length of each path where known, so that the first request includes it. Paths that are not addresses are ignored.
void open_ahead(const std::vector<std::string>& paths, const std::vector<u64>& headers = {});

}  // namespace modelutils
