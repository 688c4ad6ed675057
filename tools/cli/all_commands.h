// The command lines of all tools, for code that generates something from each of them.
#pragma once

#include "cli/dump_options.h"
#include "cli/gguf2bump_options.h"
#include "cli/gguf2mlx_options.h"
#include "cli/gguf_edit_options.h"
#include "cli/link_options.h"
#include "cli/ls_options.h"
#include "cli/mlx2gguf_options.h"
#include "cli/model_diff_options.h"
#include "cli/quantize_options.h"
#include "cli/st_edit_options.h"
#include "cli/verify_options.h"

namespace modelutils::cli {

/// Calls visit(Command (*)(Arguments&)) for each tool except `modelutils` itself, and for "modelutils link" and
/// "modelutils ls", in the order of their names.
template <typename Visit>
void for_each_command(const Visit& visit) {
  visit(gguf_dump_command);
  visit(gguf_edit_command);
  visit(quantize_command);
  visit(gguf2bump_command);
  visit(gguf2mlx_command);
  visit(mlx2gguf_command);
  visit(model_diff_command);
  visit(link_command);
  visit(ls_command);
  visit(pt2st_command);
  visit(st_dump_command);
  visit(st_edit_command);
  visit(verify_command);
}

}  // namespace modelutils::cli
