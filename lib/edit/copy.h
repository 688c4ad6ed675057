// Writes the files of an edited model anew: header, then the tensor data, copied by the kernel or shared where it can.
#pragma once

#include <vector>

#include "edit/layout.h"
#include "io/atomic_output.h"
#include "io/progress.h"

namespace modelutils::edit {

/// Writes every file under its temporary name (in order into a pipe), reads its header back, and then gives all of them
/// their names. `progress` is restarted with the bytes to be written. Errors: reading; those of AtomicOutput;
/// "edit-self-check" (a bug).
Status write_edited(const std::vector<EditedFile>& files, const gguf::SplitSet& set, const OutputOptions& options,
                    Progress& progress);

}  // namespace modelutils::edit
