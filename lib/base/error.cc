#include "base/error.h"

#include <system_error>

namespace modelutils {

std::string errno_text(int number) {
  return std::generic_category().message(number);
}

}  // namespace modelutils
