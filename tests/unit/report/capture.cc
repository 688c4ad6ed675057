#include "capture.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "support/temp_dir.h"

namespace modelutils::test {

std::string capture(const std::function<void(TextOutput& out)>& write) {
  const TempDir folder;
  const std::string path = folder.write("captured", "");
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) std::abort();
  {
    TextOutput out(descriptor);
    write(out);
  }
  ::close(descriptor);
  return read_file(path);
}

}  // namespace modelutils::test
