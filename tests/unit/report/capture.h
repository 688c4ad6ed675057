// What a renderer writes.
#pragma once

#include <functional>
#include <string>

#include "io/text_output.h"

namespace modelutils::test {

/// Everything that `write` sends to the output it is given.
std::string capture(const std::function<void(TextOutput& out)>& write);

}  // namespace modelutils::test
