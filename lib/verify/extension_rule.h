// Checks that a model's file name matches its format. Internal.
#pragma once

#include <string>

#include "base/finding_log.h"
#include "model/format.h"

namespace modelutils {

/// Loaders and download tools choose files by their extension. Code: "verify-extension".
void check_extension(const std::string& path, Format format, FindingLog& log);

}  // namespace modelutils
