// The only test file that depends on the location of the build, so that checkouts can share a compiler cache for all
// others.
#include "support/temp_dir.h"

namespace modelutils::test {

std::string data_dir() {
  return TEST_DATA_DIR;
}
std::string shared_dir() {
  return SHARED_DIR;
}
std::string tools_dir() {
  return TOOLS_DIR;
}

}  // namespace modelutils::test
