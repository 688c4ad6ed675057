// Where bytes come from: a file, a mapping, a pipe, a test's memory. Implemented in lib/io.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

/// Bytes addressed by absolute offset. Safe to read from several threads unless an implementation says otherwise.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Reads up to `out.size()` bytes that stand at `offset`; fewer only at the end of the bytes, 0 at or after it.
  /// Errors: "io-read" when the system refuses, "io-shrunk" when the file became shorter than size() said.
  virtual Result<std::size_t> read_some(u64 offset, MutableBytes out) const = 0;

  /// Bytes in all; nothing for a pipe whose end is not known.
  virtual std::optional<u64> size() const = 0;

  /// The name to use in messages.
  virtual const std::string& name() const = 0;

  /// Fills `out` from `offset`, or fails ("io-short" when the bytes end before).
  Status read_exact(u64 offset, MutableBytes out) const;
};

}  // namespace modelutils
