// A memory-mapped file, for callers who want a pointer to a tensor's bytes without a copy.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "base/types.h"
#include "io/random_access_file.h"

namespace modelutils {

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

}  // namespace modelutils
