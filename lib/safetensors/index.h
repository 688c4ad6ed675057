// Reads model.safetensors.index.json, which maps tensors to files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/finding_log.h"

namespace modelutils::safetensors {

/// One entry of `weight_map`: a tensor and its shard, an index into ShardIndex::shards.
struct IndexEntry {
  std::string tensor;
  u32 shard = 0;
  u64 offset = 0;  ///< absolute offset of the tensor's name in the index
};

struct ShardIndex {
  std::optional<u64> total_size;    ///< metadata.total_size, if it is an integer (48.0 counts)
  std::vector<std::string> shards;  ///< every file name used that is_shard_path() accepts; sorted
  std::vector<IndexEntry> entries;  ///< in file order, each tensor once; entries without a usable file name are omitted
  bool usable = false;              ///< a `weight_map` object was read to its end
  FindingLog findings;              ///< class container, "st-index-…"
};

/// True if a shard may have this name: a file in the index's folder or below, such as "model.safetensors" or
/// "part/model.safetensors". No component may be empty, "." or ".."; backslash and NUL are not allowed.
bool is_shard_path(std::string_view name);

/// Reads an index of at most max_header_bytes. Errors: read errors. Problems in the JSON are findings; file names that
/// is_shard_path() refuses are findings and are omitted.
Result<ShardIndex> parse_index(const ByteSource& source);

}  // namespace modelutils::safetensors
