// Is there room for an output? Asked before its first byte.
#pragma once

#include <string>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

/// Error (kind output) "out-space" with both sizes if the file system of the folder that `path` lies in, or of the
/// nearest one that is there, has fewer than `bytes` free. Pipes, devices and file systems that do not tell have room.
Status check_free_space(const std::string& path, u64 bytes);

}  // namespace modelutils
