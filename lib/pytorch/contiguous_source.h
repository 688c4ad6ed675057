// The values of a checkpoint's tensors as if each lay in one run, as every other format has them: what works on a
// catalog of tensors works on checkpoints.
#pragma once

#include <memory>
#include <vector>

#include "base/byte_source.h"
#include "pytorch/document.h"
#include "pytorch/inflate.h"
#include "pytorch/read_checksums.h"

namespace modelutils::pytorch {

/// The bytes of the file, and behind them, at offsets of their own, the elements of each tensor that is not one run of
/// the file: gathered by stride, inflated. Offsets in the file are those of the file. Safe to read from several
/// threads.
class ContiguousSource : public ByteSource {
 public:
  ContiguousSource(std::shared_ptr<ByteSource> file, const Document& document);

  /// Where the values of `document.tensors[i]` begin.
  u64 offset_of(std::size_t tensor) const { return offsets_[tensor]; }

  /// The checkpoint itself: the first bytes of this source.
  const ByteSource& file() const { return *file_; }

  /// From now on, keeps the checksums of what is read of the file itself (pytorch/check_records.h). Not while others
  /// read.
  void keep_checksums() { checksums_ = std::make_unique<ReadChecksums>(); }
  /// Those that were kept, none if none were asked for; no more are. Not while others read.
  std::unique_ptr<ReadChecksums> take_checksums() {
    return checksums_ ? std::move(checksums_) : std::make_unique<ReadChecksums>();
  }

  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override;
  /// File and gathered tensors together.
  std::optional<u64> size() const override { return end_; }
  const std::string& name() const override { return file_->name(); }
  const RandomAccessFile* as_file() const override { return file_->as_file(); }

 private:
  /// A tensor that is not in the file as it is.
  struct Gathered {
    u64 begin = 0;  // here
    Tensor tensor;
    u64 storage_offset = 0;
    const ByteSource* storage = nullptr;  // of the storage's bytes
  };
  Status gather(const Gathered& from, u64 offset, MutableBytes out) const;

  std::shared_ptr<ByteSource> file_;
  std::unique_ptr<ReadChecksums> checksums_;
  u64 file_size_;
  u64 end_;
  std::vector<u64> offsets_;
  std::vector<Gathered> gathered_;  // by `begin`
  std::vector<std::unique_ptr<InflatedSource>> inflated_;
};

}  // namespace modelutils::pytorch
