// The only file of the tests that knows where the build lies: all others are the same in every checkout, and a compiler
// cache has them once.
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
