// st-dump's text for people.
#pragma once

#include <vector>

#include "io/text_output.h"
#include "model/safetensors_model.h"
#include "report/style.h"

namespace modelutils {

/// What the model is, its files, its metadata, totals by dtype, then the selected tensors: of a directory or an index
/// grouped by layer, of a single file in the order of its header.
void write_st_text(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected,
                   const Style& style);

/// The modules that own a weight, a line each: mode, bits, group size, logical shape, path. Those whose weight is
/// selected.
void write_st_modules(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected,
                      const Style& style);

}  // namespace modelutils
