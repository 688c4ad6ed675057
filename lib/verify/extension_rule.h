// Does a model's file name say what the file is? Internal.
#pragma once

#include <string>

#include "base/finding_log.h"
#include "model/format.h"

namespace modelutils {

/// Loaders and download tools choose by the name. Code: "verify-extension".
void check_extension(const std::string& path, Format format, FindingLog& log);

}  // namespace modelutils
