// A file at an address, of which only what is read crosses the network.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "io/random_access_file.h"

namespace modelutils {

/// Opens the file at an address (io/remote_address.h) and reads its first 64 KiB, or all of a text. The header of a
/// GGUF file is kept and grows by factors, so that one of 10 MB takes six requests; it may have 64 MiB
/// ("remote-answer"). Of other files and of data what is asked for is read, and ahead of readers that go on. What was
/// opened is opened once: a second call gives the same. A RandomAccessFile if the server says how long the file is, or
/// it is short. Codes: those of resolve_address(), check_online() and FetchedFile.
Result<std::shared_ptr<ByteSource>> open_remote(const std::string& path);

/// The same where a file is needed whose length is known.
Result<std::shared_ptr<RandomAccessFile>> open_remote_file(const std::string& path);

/// Opens several at a time, so that opening them one after another does not wait for each. What cannot be opened says
/// so when it is opened next, without another request; after one failure of the network no other request is begun.
/// `headers` says of each path how long its header may be, where that is known: it then comes with the first request.
/// Paths that are not addresses are left alone.
void open_ahead(const std::vector<std::string>& paths, const std::vector<u64>& headers = {});

}  // namespace modelutils
