// A lock on a file during an in-place edit. It keeps a second edit out, even under another name of the same file.
#pragma once

namespace modelutils {

enum class EditLock : unsigned char {
  taken,
  held,     ///< another process edits the file
  unknown,  ///< the system or file system has no such locks
};

/// Locks the file of `descriptor`, which must be open for writing. The lock lasts until the last duplicate of the
/// descriptor is closed. It is an open file description lock (fcntl(2)); it does not affect other readers and writers.
EditLock lock_for_edit(int descriptor);

/// True if another open file description holds the lock. Does not take it.
bool is_edit_locked(int descriptor);

}  // namespace modelutils
