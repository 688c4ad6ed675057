// Opens adapters for converters, applying verify's rules.
#pragma once

#include <string>

#include "adapter/adapter.h"
#include "base/error.h"

namespace modelutils {

/// Opens and reads an adapter's directory. Errors: those of adapter::open_weights() and adapter::read_adapter(), and
/// every error among the container's findings (rules.h).
Result<adapter::Adapter> open_adapter(const std::string& directory);

}  // namespace modelutils
