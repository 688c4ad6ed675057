// The interface to bytes: a file, a mapping, a pipe, or a test's memory. lib/io implements it.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

class RandomAccessFile;  // io/random_access_file.h

/// Bytes addressed by absolute offset. Several threads may read at once unless an implementation says otherwise.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Reads up to `out.size()` bytes at `offset`. Returns the number read: fewer only at the end, 0 at or after it.
  /// Errors: "io-read" if the system call fails, "io-shrunk" if the file is now shorter than size() reported.
  virtual Result<std::size_t> read_some(u64 offset, MutableBytes out) const = 0;

  /// Total number of bytes, or nullopt for a pipe whose end is unknown.
  virtual std::optional<u64> size() const = 0;

  /// Returns the name to use in messages.
  virtual const std::string& name() const = 0;

  /// Returns the file whose bytes these are, on a disk or at an address; nullptr for pipes, memory and planned outputs.
  virtual const RandomAccessFile* as_file() const { return nullptr; }

  /// True if the bytes can only be read from start to end. A pipe keeps what it gave, so that a header can be read
  /// twice, until go_forward() announces that every read starts at or after the end of the one before.
  virtual bool is_pipe() const { return false; }
  virtual void go_forward() {}

  /// Announces that the header has been read: what follows is data. A file at an address may then be kept in the cache
  /// of headers.
  virtual void note_header_end() const {}

  /// Fills `out` from `offset`. Fails with "io-short" if the bytes end early.
  Status read_exact(u64 offset, MutableBytes out) const;
};

}  // namespace modelutils
