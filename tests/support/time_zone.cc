#include "support/time_zone.h"

#include <stdlib.h>

namespace modelutils::test {

void use_utc() {
#ifdef _WIN32
  ::_putenv("TZ=UTC");
#else
  ::setenv("TZ", "UTC", 1);
#endif
}

}  // namespace modelutils::test
