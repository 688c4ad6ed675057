// Files read by offset with pread(), mapped, streamed from pipes, or locked. A file that shrinks is an error, not a
// SIGBUS. Another process may hold a lease on it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/os/files.h"
#include "base/types.h"

namespace modelutils {

// Pipes, FIFOs and devices. They are read forward only; bytes are kept, so that a header can be read again, until
// go_forward().

/// A descriptor that cannot seek. Keeps every byte that it has read, up to `limit`; beyond that, "io-limit". Takes
/// ownership of the descriptor, except of standard input.
class StreamSource : public ByteSource {
 public:
  static constexpr u64 default_limit = u64{1} << 30;

  StreamSource(std::string name, int descriptor, u64 limit = default_limit)
      : name_(std::move(name)), descriptor_(descriptor), limit_(limit) {}
  ~StreamSource() override;
  StreamSource(const StreamSource&) = delete;
  StreamSource& operator=(const StreamSource&) = delete;

  /// Errors in addition to those of ByteSource: "io-limit"; "io-pipe" for bytes no longer kept.
  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override;
  bool is_pipe() const override { return true; }
  /// From now on drops the bytes before the offset of each read, except the first `kept` ones, and lifts the limit.
  void go_forward(u64 kept = 0) override;
  /// Returns nullopt until the end has been read.
  std::optional<u64> size() const override;
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  int descriptor_;
  u64 limit_;
  mutable std::mutex mutex_;
  mutable u64 forgotten_ = 0;  // number of dropped bytes before kept_
  mutable std::vector<std::byte> kept_;
  std::vector<std::byte> head_;  // the bytes that go_forward() keeps
  mutable bool ended_ = false;
  bool is_forward_ = false;
};

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

/// Opens an input that can be opened only once: standard input ("-", which may be a file) or a FIFO. Returns nullptr
/// for other paths. Codes: those of open_source().
Result<std::shared_ptr<ByteSource>> open_once(const std::string& path);

// A memory-mapped file, for callers who want a pointer to a tensor's bytes without a copy.

/// The whole file as memory. If the file shrinks while mapped, access to the missing part raises SIGBUS. Our own tools
/// use RandomAccessFile for that reason.
class MappedFile {
 public:
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// Maps a regular file. Codes: those of RandomAccessFile::open(), and "io-map".
  static Result<std::shared_ptr<MappedFile>> open(const std::string& path);
  /// Maps an open file, even if its path refers to another file now. Codes: "io-map", and "io-shrunk" if the file is
  /// shorter than when it was opened.
  static Result<std::shared_ptr<MappedFile>> map(const RandomAccessFile& file);

  Bytes bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  const std::byte* data_;
  std::size_t size_;
};

// A lock on a file during an in-place edit. It keeps a second edit out, even under another name of the same file.

using os::EditLock;
using os::is_edit_locked;
using os::lock_for_edit;

}  // namespace modelutils
