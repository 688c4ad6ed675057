// st-dump's machine-readable forms (docs/json.md, "st-dump/1").
#pragma once

#include <vector>

#include "io/text_output.h"
#include "model/safetensors_model.h"

namespace modelutils {

/// One JSON object and a line feed: path, metadata, files, the selected tensors, parameters; with `modules` every
/// module whose weight is selected.
void write_st_json(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected, bool modules);

/// How the tensor table names files: several models can only be told apart by their paths.
enum class StFileColumn : u8 { none, base_name, path };

/// The tensor table as CSV: index, name, type, shape, parameters, bytes, offset (data_offsets[0]), data_offset
/// (absolute in its file), and the file.
void write_st_csv(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected, bool heading,
                  StFileColumn file_column);

/// The same as one JSON object a line; `file_column` is not `none`.
void write_st_jsonl(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected,
                    StFileColumn file_column);

}  // namespace modelutils
