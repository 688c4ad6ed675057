#include "capture.h"

#include <cstdlib>

#include "base/os/files.h"
#include "support/temp_dir.h"

namespace modelutils::test {

std::string capture(const std::function<void(TextOutput& out)>& write) {
  const TempDir folder;
  const std::string path = folder.write("captured", "");
  const int descriptor = os::open(path, os::writing);
  if (descriptor < 0) std::abort();
  {
    TextOutput out(descriptor);
    write(out);
  }
  os::close(descriptor);
  return read_file(path);
}

}  // namespace modelutils::test
