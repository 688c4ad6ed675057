// Checks the free space for an output before writing it.
#pragma once

#include <string>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

/// Returns "out-space" (kind output) with both sizes if fewer than `bytes` are free on the file system of `path`'s
/// folder, or of its nearest existing parent. Succeeds for pipes, devices and file systems that do not report free
/// space.
Status check_free_space(const std::string& path, u64 bytes);

}  // namespace modelutils
