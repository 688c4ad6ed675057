// Divides a planned GGUF into files: their headers, the places of the tensors, and how their rows are streamed.
#pragma once

#include <vector>

#include "base/error.h"
#include "convert/to_gguf/mlx_to_gguf.h"
#include "convert/to_gguf/plan.h"
#include "formats/gguf/write.h"

namespace modelutils::to_gguf {

/// Lays out the files of a plan whose tensors have forms and reports, opens them as plan.target and fills plan.stream.
/// `keys` go into the first file. Errors: usage (--split-max-size makes too many files), those of gguf::layout().
Status lay_out_files(GgufPlan& plan, const MlxToGgufOptions& options, const std::vector<gguf::OutKey>& keys);

}  // namespace modelutils::to_gguf
