// model.safetensors.index.json: which tensor is in which file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"

namespace modelutils::safetensors {

/// One entry of `weight_map`: tensor -> shard, by its place in ShardIndex::shards.
struct IndexEntry {
  std::string tensor;
  u32 shard = 0;
  u64 offset = 0;  ///< absolute offset of the tensor's name in the index
};

struct ShardIndex {
  std::optional<u64> total_size;    ///< metadata.total_size, if it is a whole number (48.0 counts)
  std::vector<std::string> shards;  ///< every file name that occurs and is a plain base name; sorted
  std::vector<IndexEntry> entries;  ///< in the order of the file, each tensor once; without a usable file name left out
  bool usable = false;              ///< a `weight_map` object was read to its end
  Findings findings;                ///< class container, "st-index-…"
};

/// Is `name` a plain base name: not empty, not "." or "..", no '/', '\' or NUL?
bool is_plain_base_name(std::string_view name);

/// Reads an index of at most max_header_bytes. Errors: those of reading. Everything that is wrong with the JSON is a
/// finding; file names that are no plain base names are findings and are left out.
Result<ShardIndex> parse_index(const ByteSource& source);

}  // namespace modelutils::safetensors
