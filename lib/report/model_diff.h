// The differences between two models in the output forms of model-diff. Sections without a difference are omitted; all
// text from files is escaped.
#pragma once

#include "compare/compare.h"
#include "io/standard_output.h"
#include "report/table.h"

namespace modelutils {

struct DiffOptions {
  Style style{false};
  std::size_t width = 0;  ///< columns of the terminal; 0: not limited
  u64 top = 10;           ///< number of listed tensors, those with the largest errors
};

/// Writes text for people; nothing if the models are equal. Errors: those of reading keys.
Status write_diff_text(TextOutput& out, const ModelDiff& diff, const DiffOptions& options);
/// Writes one line that summarises the differences; nothing if the models are equal.
void write_diff_brief(TextOutput& out, const ModelDiff& diff);
/// Writes one object on one line ("model-diff/1", docs/json.md). Errors: those of reading keys.
Status write_diff_json(TextOutput& out, const ModelDiff& diff);
/// Writes a heading and a row for each difference (docs/json.md, "model-diff/1"). Errors: those of reading keys.
Status write_diff_csv(TextOutput& out, const ModelDiff& diff);
/// Writes a heading and a table for each section; nothing if the models are equal. Errors: those of reading keys.
Status write_diff_markdown(TextOutput& out, const ModelDiff& diff, const DiffOptions& options);

}  // namespace modelutils
