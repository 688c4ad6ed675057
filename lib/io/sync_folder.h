// Names on the disk: what was created, renamed or removed in a folder outlives a crash only after this.
#pragma once

#include <string>

#include "base/error.h"

namespace modelutils {

/// Syncs the folder that the file `path` is in. Nothing where the file system cannot, or the folder may not be read.
/// Error of kind output: "out-sync".
Status sync_folder_of(const std::string& path);

}  // namespace modelutils
