// model.safetensors.index.json: which tensor is in which file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/finding_log.h"

namespace modelutils::safetensors {

/// One entry of `weight_map`: tensor -> shard, by its place in ShardIndex::shards.
struct IndexEntry {
  std::string tensor;
  u32 shard = 0;
  u64 offset = 0;  ///< absolute offset of the tensor's name in the index
};

struct ShardIndex {
  std::optional<u64> total_size;    ///< metadata.total_size, if it is a whole number (48.0 counts)
  std::vector<std::string> shards;  ///< every file name that occurs and may be opened; sorted
  std::vector<IndexEntry> entries;  ///< in the order of the file, each tensor once; without a usable file name left out
  bool usable = false;              ///< a `weight_map` object was read to its end
  FindingLog findings;              ///< class container, "st-index-…"
};

/// May a shard have this name: a file in the index's folder or below it, "model.safetensors" or
/// "part/model.safetensors"? Between its slashes nothing is empty, "." or ".."; there is no backslash and no NUL.
bool is_shard_path(std::string_view name);

/// Reads an index of at most max_header_bytes. Errors: those of reading. Everything that is wrong with the JSON is a
/// finding; file names that is_shard_path() refuses are findings and are left out.
Result<ShardIndex> parse_index(const ByteSource& source);

}  // namespace modelutils::safetensors
