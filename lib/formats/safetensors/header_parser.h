// The JSON of a safetensors header -> Document. Internal; callers use parse.h.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "formats/safetensors/parse.h"
#include "formats/safetensors/text.h"

namespace modelutils::safetensors {

/// Owns the data that a Document's views point to.
class Storage {
 public:
  Text text;

  /// Returns a copy that is valid as long as this object.
  std::span<const u64> keep(std::span<const u64> dims) {
    if (dims.size() > free_.size()) {
      const std::size_t size = std::max(chunk_size, dims.size());
      chunks_.emplace_back(new u64[size]);
      free_ = {chunks_.back().get(), size};
    }
    const std::span<u64> kept = free_.first(dims.size());
    std::copy(dims.begin(), dims.end(), kept.begin());
    free_ = free_.subspan(dims.size());
    return kept;
  }

 private:
  static constexpr std::size_t chunk_size = 8192;
  std::vector<std::unique_ptr<u64[]>> chunks_;
  std::span<u64> free_;
};

/// Reads the JSON text in `storage` into `document` (metadata, tensors, findings, complete), and unescapes it in place.
/// `text_offset` is the text's offset in the file; offsets in findings include it.
void parse_header(Storage& storage, u64 text_offset, Document& document);

}  // namespace modelutils::safetensors
