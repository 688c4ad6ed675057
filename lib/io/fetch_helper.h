// Runs the helper program libexec/modelutils/fetch, the only one that uses HTTP. It starts when the first address is
// opened; one process serves each file that is read concurrently, up to eight.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "io/remote_address.h"

namespace modelutils {

/// The metadata of an answer.
struct FetchedPiece {
  std::optional<u64> total;  ///< size of the whole file in bytes, if the server reported it
  std::string commit;        ///< commit of the Hub repository; empty if not reported
  std::string version;       ///< ETag or date; empty if not reported
};

/// A file at an address. Several threads may use it; their requests run one after another.
class FetchedFile {
 public:
  /// Creates a file without sending a request. `name` is its name in messages. Code: "remote-helper".
  static Result<std::unique_ptr<FetchedFile>> open(const RemoteAddress& address, std::string name);
  virtual ~FetchedFile() = default;

  /// Appends bytes [offset, offset + size) to `out`: fewer at the end of the file, none after a failure. Codes:
  /// "remote-missing" (no such file), "remote-status" (the server refuses), "remote-network" (no connection, or it was
  /// cut or timed out), "remote-answer" (the server's answer is invalid), "remote-redirect", "remote-changed",
  /// "remote-helper".
  virtual Result<FetchedPiece> read(u64 offset, u64 size, std::vector<std::byte>& out) = 0;
  /// Reads a whole answer that is not a model file. Code: "remote-answer" if it exceeds `most` bytes.
  virtual Result<FetchedPiece> read_whole(u64 most, std::vector<std::byte>& out) = 0;
};

/// Returns and clears the first failure of a server, the network or the helper in any thread since the last call. After
/// one, later findings say nothing reliable about the model. A missing file is not such a failure.
std::optional<Error> take_remote_failure();

}  // namespace modelutils
