#include "report/report_time.h"

#include <cstdlib>
#include <ctime>

namespace modelutils {

i64 report_time() {
  if (const char* stated = std::getenv("SOURCE_DATE_EPOCH")) return std::atoll(stated);
  return static_cast<i64>(std::time(nullptr));
}

}  // namespace modelutils
