#include "io/leased_open.h"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>

namespace modelutils {

int open_when_released(int directory, const char* path, int flags) {
  constexpr int pause_ms = 10, most_pauses = 6000;
  for (int pause = 0;; ++pause) {
    const int descriptor = ::openat(directory, path, flags);
    if (descriptor >= 0 || errno != EWOULDBLOCK || pause == most_pauses) return descriptor;
    ::poll(nullptr, 0, pause_ms);
    errno = EWOULDBLOCK;
  }
}

}  // namespace modelutils
