// File systems on which two files can share blocks until one of them is written to.
#pragma once

#include <string>

#include "base/types.h"
#include "io/random_access_file.h"

namespace modelutils {

/// Bytes of a block: what is shared begins at a multiple of it in both files.
inline constexpr u64 shared_block_bytes = 4096;

/// May a new file in `folder` ("" is the current one) share blocks with `source`: are both on one file system of a kind
/// that can (XFS, Btrfs, bcachefs)?
bool may_share_blocks(const RandomAccessFile& source, const std::string& folder);

}  // namespace modelutils
