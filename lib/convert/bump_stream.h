// Writes a planned BUMPWGT3 file: fixed buffers, hashed on another thread while they are written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bump/header.h"
#include "gguf/split_set.h"
#include "io/atomic_output.h"
#include "io/progress.h"
#include "plan/bump_mapping.h"

namespace modelutils {

struct BumpStreamResult {
  bump::Digest sha256{};
  std::vector<std::string> entry_sha256;  ///< by entry, hexadecimal; empty unless asked for
};

/// Streams the whole file to `output`. A seekable output gets its header last, and holes where whole buffers are zeros.
/// For others (pipes, devices) the checksum must be known first: the source is read twice, and "gguf2bump-changed"
/// tells if it was not the same both times. Does not commit.
Result<BumpStreamResult> stream_bump(const gguf::SplitSet& set, const BumpMapping& mapping, bump::Numbering numbering,
                                     bool hash_entries, AtomicOutput& output, Progress& progress);

}  // namespace modelutils
