// Files read by offset with pread(). A file that shrinks is an error, not a SIGBUS.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/byte_source.h"

namespace modelutils {

/// A file of known length, on a disk or at an address (io/remote_source.h). Any part can be read at any time.
class RandomAccessFile : public ByteSource {
 public:
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  /// Opens a regular file, following symbolic links. Never blocks on a FIFO. Codes: "io-open" (with the system's
  /// reason), "io-directory", "io-not-regular".
  static Result<std::shared_ptr<RandomAccessFile>> open(const std::string& path);
  /// Takes ownership of a descriptor opened for reading; closes it if it is not a regular file. Codes: "io-open",
  /// "io-directory", "io-not-regular".
  static Result<std::shared_ptr<RandomAccessFile>> adopt(const std::string& path, int descriptor);

  std::optional<u64> size() const final { return size_; }
  const std::string& name() const final { return path_; }
  const RandomAccessFile* as_file() const final { return this; }

  u64 file_size() const { return size_; }
  /// Descriptor of a file on a disk, for copies by the kernel, shared blocks, mappings and leases; -1 at an address.
  virtual int descriptor() const { return -1; }

 protected:
  RandomAccessFile(std::string path, u64 size) : path_(std::move(path)), size_(size) {}

 private:
  std::string path_;
  u64 size_;
};

/// Bytes in memory, for tests, fuzzers and headers received through a pipe.
class MemoryFile : public ByteSource {
 public:
  explicit MemoryFile(std::vector<std::byte> bytes, std::string name = "memory")
      : bytes_(std::move(bytes)), name_(std::move(name)) {}

  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override;
  std::optional<u64> size() const override { return bytes_.size(); }
  const std::string& name() const override { return name_; }
  Bytes bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::string name_;
};

/// Opens `path`, whatever its type. "-" is standard input. A regular file, also as standard input, gives a
/// RandomAccessFile; a pipe, FIFO or character device a StreamSource; an address the result of open_remote(), with its
/// codes. Other codes: those of RandomAccessFile::open().
Result<std::shared_ptr<ByteSource>> open_source(const std::string& path);

}  // namespace modelutils
