// Where bytes come from: a file, a mapping, a pipe, a test's memory. Implemented in lib/io.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

class RandomAccessFile;  // io/random_access_file.h

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

  /// The file whose bytes these are, on a disk or at an address; nullptr for pipes, memory and planned outputs.
  virtual const RandomAccessFile* as_file() const { return nullptr; }

  /// True if the bytes can only be read from start to end. A pipe keeps what it gave, so that a header can be read
  /// twice, until go_forward() announces that every read starts at or after the end of the one before.
  virtual bool is_pipe() const { return false; }
  virtual void go_forward() {}

  /// Announces that the header has been read: what follows is data. A file at an address may then be kept in the cache
  /// of headers.
  virtual void note_header_end() const {}

  /// Fills `out` from `offset`, or fails ("io-short" when the bytes end before).
  Status read_exact(u64 offset, MutableBytes out) const;
};

}  // namespace modelutils
