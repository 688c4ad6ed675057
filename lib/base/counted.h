// Numbers with their nouns, for messages.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils {

/// "1 error", "2 errors", "0 errors"
inline std::string counted(u64 number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

}  // namespace modelutils
