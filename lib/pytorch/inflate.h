// Random access to a deflated record. It saves the decompressor's state every few megabytes (32 KiB each), so that
// reading in any order stays linear in the record's size.
#pragma once

#include <memory>
#include <mutex>

#include "base/byte_source.h"
#include "pytorch/zip.h"

namespace modelutils::pytorch {

class InflatedSource : public ByteSource {
 public:
  /// `source` must outlive this object.
  InflatedSource(const ByteSource& source, const ZipRecord& record);
  ~InflatedSource() override;

  /// Fails like `source`, or with "pt-zip-deflate" if the compressed data is invalid or too short.
  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override;
  std::optional<u64> size() const override { return record_.bytes; }
  const std::string& name() const override { return source_.name(); }

  /// After reading everything: checks that the compressed data ends here, too. Fails with "pt-zip-deflate".
  Status check_end() const;

 private:
  struct State;
  Error broken(std::string_view what) const;
  Status step(int flush) const;
  Status advance(MutableBytes out) const;
  Status restart(u64 offset) const;

  const ByteSource& source_;
  ZipRecord record_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<State> state_;
};

}  // namespace modelutils::pytorch
