// Makes changed names durable: a file created, renamed or removed in a folder survives a crash only after this.
#pragma once

#include <string>

#include "base/error.h"

namespace modelutils {

/// Syncs the folder of the file `path`. Does nothing if the file system does not support it or the folder may not be
/// read. Error: "out-sync" (kind output).
Status sync_folder_of(const std::string& path);

}  // namespace modelutils
