// The command line of gguf-edit.
#pragma once

#include "cli/command.h"
#include "edit/gguf_edit.h"

namespace modelutils::cli {

struct GgufEditArguments {
  edit::EditOptions edit;
  std::vector<Occurrence> operations;
  bool recover = false;
  std::string journal;                  ///< with --recover
  std::vector<std::string> importance;  ///< importance matrices to add to the input, itself a matrix
};

/// Defines all flags. parse() fills `arguments`, which must outlive the command.
Command gguf_edit_command(GgufEditArguments& arguments);

/// Converts the occurrences to operations, in the same order.
std::vector<edit::EditOperation> edit_operations(const std::vector<Occurrence>& given);

}  // namespace modelutils::cli
