// Writes the files of an edited model: header, then the tensor data, copied or shared by the kernel if possible.
#pragma once

#include <vector>

#include "edit/layout.h"
#include "io/atomic_output.h"
#include "io/progress.h"

namespace modelutils::edit {

/// Writes every file under its temporary name (or in order into a pipe), reads its header back, and then renames all of
/// them. Restarts `progress` with the number of bytes to write. Errors: those of reading, of AtomicOutput and of
/// check_written().
Status write_edited(const std::vector<EditedFile>& files, const gguf::SplitSet& set, const OutputOptions& options,
                    Progress& progress);

}  // namespace modelutils::edit
