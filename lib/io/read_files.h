// The files that a run has read. No output may replace one of them, no matter which option named it.
#pragma once

#include <sys/stat.h>

namespace modelutils {

/// Enables recording of every file opened for reading, by device and inode. Call once per process; the tools' main
/// does. The library alone never does, because a long-lived process may read any number of files.
void remember_read_files();

/// Records a file. Call it for every file opened for reading.
void note_read_file(const struct stat& status);

/// True if this run has opened the file for reading. Several threads may call it at once.
bool was_read(const struct stat& status);

}  // namespace modelutils
