// The helper program libexec/modelutils/fetch, which alone speaks HTTP: started when the first address is opened, one
// process for each file that is read at the same time, up to eight.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/types.h"
#include "io/remote_address.h"

namespace modelutils {

/// What an answer said, beside its bytes.
struct FetchedPiece {
  std::optional<u64> total;  ///< bytes of the whole file, if the server said it
  std::string commit;        ///< of the Hub's repository; empty if it said none
  std::string version;       ///< ETag or date; empty if it said none
};

/// Something at an address. Safe to use from several threads, one after another.
class FetchedFile {
 public:
  /// `name` is what messages call it. Nothing is asked yet. Code: "remote-helper".
  static Result<std::unique_ptr<FetchedFile>> open(const RemoteAddress& address, std::string name);
  virtual ~FetchedFile() = default;

  /// Appends bytes [offset, offset + size) to `out`, fewer at the end of the file, none after a failure. Codes:
  /// "remote-missing" (there is no such file), "remote-status" (the server refuses), "remote-network" (no connection,
  /// or a cut or silent one), "remote-answer" (the server sent what it may not), "remote-redirect", "remote-changed",
  /// "remote-helper".
  virtual Result<FetchedPiece> read(u64 offset, u64 size, std::vector<std::byte>& out) = 0;
  /// All of it, for an answer that is not a file; "remote-answer" if that is more than `most` bytes.
  virtual Result<FetchedPiece> read_whole(u64 most, std::vector<std::byte>& out) = 0;
};

/// The first failure of a server, the network or the helper since the last call, whoever met it: what was found out
/// since then says nothing about the model. That a file is not there is no failure.
std::optional<Error> take_remote_failure();

}  // namespace modelutils
