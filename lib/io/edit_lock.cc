#include "io/edit_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace modelutils {

#ifdef F_OFD_SETLK

namespace {

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

EditLock lock_for_edit(int descriptor) {
  struct flock lock = whole_file();
  if (::fcntl(descriptor, F_OFD_SETLK, &lock) == 0) return EditLock::taken;
  return errno == EAGAIN || errno == EACCES ? EditLock::held : EditLock::unknown;
}

bool is_edit_locked(int descriptor) {
  struct flock lock = whole_file();
  return ::fcntl(descriptor, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

#else

EditLock lock_for_edit(int) {
  return EditLock::unknown;
}

bool is_edit_locked(int) {
  return false;
}

#endif

}  // namespace modelutils
