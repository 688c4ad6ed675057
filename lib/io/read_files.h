// Which files a run has read: an output must replace none of them, whichever option named it.
#pragma once

#include <sys/stat.h>

namespace modelutils {

/// From now on every file that is opened for reading is remembered, by device and inode (once for a process; the tools'
/// main does it, the library alone never, since a process that lives long may read any number).
void remember_read_files();

/// For whoever opens a file to read it.
void note_read_file(const struct stat& status);

/// Has this run opened the file for reading? Safe from several threads.
bool was_read(const struct stat& status);

}  // namespace modelutils
