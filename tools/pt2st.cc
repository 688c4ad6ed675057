// pt2st: converts a PyTorch checkpoint to safetensors. It is st-edit under another name.
#include "cli/st_edit_tool.h"
#include "tools.h"

int modelutils::cli::pt2st(int argc, char** argv) {
  return run_st_edit(pt2st_command, argc, argv);
}
