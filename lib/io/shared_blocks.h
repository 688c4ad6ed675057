// File systems on which files can share blocks until one of them is written to (reflinks).
#pragma once

#include <string>

#include "base/types.h"
#include "io/random_access_file.h"

namespace modelutils {

/// Bytes per block. A shared range must begin at a multiple of it in both files.
inline constexpr u64 shared_block_bytes = 4096;

/// True if a new file in `folder` ("" is the current one) can share blocks with `source`: both are on the same file
/// system, and it is one that supports sharing (XFS, Btrfs, bcachefs).
bool may_share_blocks(const RandomAccessFile& source, const std::string& folder);

}  // namespace modelutils
