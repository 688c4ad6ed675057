// A file at an address, of which only what is read crosses the network.
#pragma once

#include <memory>
#include <string>

#include "base/byte_source.h"

namespace modelutils {

/// Opens the file at an address (io/remote_address.h) by starting libexec/modelutils/fetch, which is the only program
/// that speaks HTTP, and reads its first 64 KiB. The start of the file is kept and grows by factors, so that a header
/// of 10 MB takes six requests; what lies far from it is asked for as it is read. Codes: those of resolve_address();
/// "remote-status" (the server refuses), "remote-network" (no connection, or a cut or silent one), "remote-answer" (the
/// server sent what it may not), "remote-redirect", "remote-changed", "remote-helper" (the helper is not there).
Result<std::shared_ptr<ByteSource>> open_remote(const std::string& path);

}  // namespace modelutils
