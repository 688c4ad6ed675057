// A PyTorch checkpoint as a file of a safetensors set, so that whatever works on such a set works on checkpoints.
#pragma once

#include <memory>
#include <optional>

#include "pytorch/document.h"
#include "safetensors/shard_set.h"

namespace modelutils {

/// Reads `source` if it is a checkpoint (pytorch::is_checkpoint); nothing if it is not. The document's offsets count in
/// the source that is given back, in which every tensor is one run. `is_part`: of a model's folder: tensors beside the
/// wrapper ("state_dict", "model", "module") are left out, and it is taken off the names. Its findings are "pt-…".
/// Errors: those of reading.
Result<std::optional<safetensors::ShardContent>> read_checkpoint(std::shared_ptr<ByteSource> source, bool is_part);

/// What a file of a set was made of; nullptr if it is not a checkpoint.
const pytorch::Document* checkpoint_of(const safetensors::ShardFile& file);

/// From now on keeps the checksums of what is read of the set's checkpoints. Not while others read.
void keep_checkpoint_checksums(const safetensors::ShardSet& set);
/// Do the records of every checkpoint of the set have their CRC-32? Reads what was not read since
/// keep_checkpoint_checksums(). Findings "pt-zip-…"; errors of reading are findings, too.
FindingLog check_checkpoint_records(const safetensors::ShardSet& set, unsigned threads);

}  // namespace modelutils
