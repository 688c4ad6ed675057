// Captures the output of a renderer.
#pragma once

#include <functional>
#include <string>

#include "io/standard_output.h"

namespace modelutils::test {

/// Returns everything that `write` sends to its output.
std::string capture(const std::function<void(TextOutput& out)>& write);

}  // namespace modelutils::test
