// Streams planned tensors into the files of a directory: chunks of rows claimed by several threads, read, encoded,
// written where they belong. Memory does not grow with the model.
#pragma once

#include <vector>

#include "base/error.h"
#include "io/atomic_output.h"
#include "io/progress.h"
#include "to_directory/plan.h"

namespace modelutils::to_directory {

/// Writes headers and tensors of all shards; `files` has one open output for each. Fills in what the report says of
/// tensors that are measured as they are written.
Status stream_directory(DirectoryPlan& plan, std::vector<AtomicOutput>& files, unsigned threads, Progress& progress);

}  // namespace modelutils::to_directory
