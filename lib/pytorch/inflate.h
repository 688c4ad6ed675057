// A deflated record read by position. Every few megabytes the state of the decompressor is kept, so that reading a
// record in any order stays linear and holds 32 KiB for each of these places.
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

  /// Errors: those of reading; "pt-zip-deflate" where the compressed bytes are broken or too few.
  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override;
  std::optional<u64> size() const override { return record_.bytes; }
  const std::string& name() const override { return source_.name(); }

  /// After everything was read: did the compressed bytes end there, too? Code "pt-zip-deflate".
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
