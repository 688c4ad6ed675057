// A file before it is written: its header, followed by zeros or by the bytes of another source.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "gguf/split_set.h"
#include "gguf/write.h"

namespace modelutils {

class PlannedSource : public ByteSource {
 public:
  /// `header` must outlive this object. It is followed by the bytes of `rest` from the same offset on, or by zeros.
  PlannedSource(std::string_view header, u64 file_size, std::string name, std::shared_ptr<const ByteSource> rest = {})
      : header_(header), file_size_(file_size), name_(std::move(name)), rest_(std::move(rest)) {}

  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override;
  std::optional<u64> size() const override { return file_size_; }
  const std::string& name() const override { return name_; }

 private:
  std::string_view header_;
  u64 file_size_;
  std::string name_;
  std::shared_ptr<const ByteSource> rest_;
};

/// The GGUF file that `layout` describes, opened and parsed like one on a disk. `layout` must outlive it.
Result<gguf::SetFile> planned_file(const gguf::OutLayout& layout, std::string path);

}  // namespace modelutils
