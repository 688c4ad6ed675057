// Checks that a model's file name matches its format. Internal.
#pragma once

#include <string>

#include "base/finding_log.h"
#include "model/format.h"

namespace modelutils {

/// Logs "verify-extension" if the path's extension does not match the format, because loaders and download tools choose
/// files by their extension.
void check_extension(const std::string& path, Format format, FindingLog& log);

}  // namespace modelutils
