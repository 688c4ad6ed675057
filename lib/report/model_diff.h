// What changed between two models, in each form in which model-diff prints it. Sections without a difference are
// silent; whatever comes from a file is escaped.
#pragma once

#include "compare/compare.h"
#include "io/text_output.h"
#include "report/style.h"

namespace modelutils {

struct DiffOptions {
  Style style{false};
  std::size_t width = 0;  ///< columns of the terminal; 0: not limited
  u64 top = 10;           ///< so many tensors with the largest errors are listed
};

/// For people; nothing at all for equal models. Errors: those of reading keys.
Status write_diff_text(TextOutput& out, const ModelDiff& diff, const DiffOptions& options);
/// One line: that and in what they differ; nothing for equal models.
void write_diff_brief(TextOutput& out, const ModelDiff& diff);
/// One object on one line ("model-diff/1", docs/json.md). Errors: those of reading keys.
Status write_diff_json(TextOutput& out, const ModelDiff& diff);
/// A heading and a row for each difference (docs/json.md, "model-diff/1"). Errors: those of reading keys.
Status write_diff_csv(TextOutput& out, const ModelDiff& diff);
/// A heading and a table for each section; nothing for equal models. Errors: those of reading keys.
Status write_diff_markdown(TextOutput& out, const ModelDiff& diff, const DiffOptions& options);

}  // namespace modelutils
