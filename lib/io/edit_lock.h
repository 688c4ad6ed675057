// The lock that one edit in place holds on a file, so that a second one does not begin, whatever name it comes by.
#pragma once

namespace modelutils {

enum class EditLock : unsigned char {
  taken,
  held,     ///< another process edits the file
  unknown,  ///< this system or file system has no such locks
};

/// Locks the file that `descriptor` (opened for writing) is of until the last descriptor of this opening is closed; an
/// open file description lock (fcntl(2)), which other readers and writers do not see.
EditLock lock_for_edit(int descriptor);

/// Does another opening hold the lock? Takes nothing.
bool is_edit_locked(int descriptor);

}  // namespace modelutils
