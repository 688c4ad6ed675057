// st-edit: changes a model in safetensors files.
#include "cli/st_edit_tool.h"
#include "tools.h"

int modelutils::cli::st_edit(int argc, char** argv) {
  return run_st_edit(st_edit_command, argc, argv);
}
