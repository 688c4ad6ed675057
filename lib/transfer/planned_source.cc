#include "transfer/planned_source.h"

#include <algorithm>
#include <cstring>

#include "gguf/parse.h"

namespace modelutils {

Result<std::size_t> PlannedSource::read_some(u64 offset, MutableBytes out) const {
  if (offset >= file_size_) return std::size_t{0};
  const std::size_t size = static_cast<std::size_t>(std::min<u64>(out.size(), file_size_ - offset));
  if (offset >= header_.size()) {
    if (rest_) return rest_->read_some(offset, out.first(size));
    std::memset(out.data(), 0, size);
    return size;
  }
  const std::size_t from_header = std::min<std::size_t>(size, header_.size() - static_cast<std::size_t>(offset));
  std::memcpy(out.data(), header_.data() + offset, from_header);
  return from_header;
}

Result<gguf::SetFile> planned_file(const gguf::OutLayout& layout, std::string path) {
  auto source = std::make_shared<PlannedSource>(layout.header, layout.file_size, path);
  MU_ASSIGN(gguf::Document document, gguf::parse(*source));
  return gguf::SetFile{std::move(path), std::move(source), std::move(document)};
}

}  // namespace modelutils
