// Presents a PyTorch checkpoint as a file of a safetensors set, so that code for such sets also works on checkpoints.
#pragma once

#include <memory>
#include <optional>

#include "pytorch/document.h"
#include "safetensors/shard_set.h"

namespace modelutils {

/// Reads `source` as a checkpoint; nullopt if pytorch::is_checkpoint() is false. Offsets in the document refer to the
/// returned source, in which every tensor is contiguous. With `is_part` (the file belongs to a model's folder), the
/// wrapper ("state_dict", "model", "module") is removed from the names, and tensors outside it are omitted. Findings
/// have codes "pt-…". Errors: read errors.
Result<std::optional<safetensors::ShardContent>> read_checkpoint(std::shared_ptr<ByteSource> source, bool is_part);

/// Returns the checkpoint that a file of a set was made from; nullptr if it is not a checkpoint.
const pytorch::Document* checkpoint_of(const safetensors::ShardFile& file);

/// From now on, records the checksums of bytes read from the set's checkpoints. Not thread-safe.
void keep_checkpoint_checksums(const safetensors::ShardSet& set);
/// Compares the records of every checkpoint in the set with their CRC-32. Reads only bytes that were not read since
/// keep_checkpoint_checksums(). Reports "pt-zip-…" and read errors as findings.
FindingLog check_checkpoint_records(const safetensors::ShardSet& set, unsigned threads);

}  // namespace modelutils
