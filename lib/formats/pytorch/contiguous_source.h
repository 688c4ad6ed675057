// Presents the tensors of a checkpoint as contiguous, row-major data, as all other formats store them.
#pragma once

#include <memory>
#include <vector>

#include "base/byte_reader.h"
#include "formats/pytorch/check_records.h"
#include "formats/pytorch/parse.h"
#include "formats/pytorch/zip_record.h"

namespace modelutils::pytorch {

/// The bytes of the file, followed by the elements of each tensor that is not contiguous in the file, gathered or
/// inflated on demand. Offsets below the file's size are offsets in the file. Reading is thread-safe.
class ContiguousSource : public ByteSource {
 public:
  ContiguousSource(std::shared_ptr<ByteSource> file, const Document& document);

  /// Returns the offset of the data of `document.tensors[i]`.
  u64 offset_of(std::size_t tensor) const { return offsets_[tensor]; }

  /// Returns the checkpoint file itself, which is the beginning of this source.
  const ByteSource& file() const { return *file_; }

  /// From now on, records the checksums of bytes read from the file (formats/pytorch/check_records.h). Not thread-safe.
  void keep_checksums() { checksums_ = std::make_unique<ReadChecksums>(); }
  /// Returns the recorded checksums (empty if keep_checksums() was not called) and stops recording. Not thread-safe.
  std::unique_ptr<ReadChecksums> take_checksums() {
    return checksums_ ? std::move(checksums_) : std::make_unique<ReadChecksums>();
  }

  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override;
  /// Returns the size of the file plus the gathered tensors.
  std::optional<u64> size() const override { return end_; }
  const std::string& name() const override { return file_->name(); }
  const RandomAccessFile* as_file() const override { return file_->as_file(); }

 private:
  /// A tensor that is not contiguous in the file.
  struct Gathered {
    u64 begin = 0;  // offset in this source
    Tensor tensor;
    u64 storage_offset = 0;
    const ByteSource* storage = nullptr;  // the source that holds the storage
  };
  Status gather(const Gathered& from, u64 offset, MutableBytes out) const;

  std::shared_ptr<ByteSource> file_;
  std::unique_ptr<ReadChecksums> checksums_;
  u64 file_size_;
  u64 end_;
  std::vector<u64> offsets_;
  std::vector<Gathered> gathered_;  // ascending by `begin`
  std::vector<std::unique_ptr<InflatedSource>> inflated_;
};

}  // namespace modelutils::pytorch
