// The operations of gguf-edit as data: one table for the flags of the command line and the lines of a script.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace modelutils::edit {

enum class EditAction : u8 {
  set,
  set_from,
  set_token,
  delete_keys,
  rename_key,
  copy_keys,
  rename_tensor,
  drop_tensors,
  align,
  upgrade,
  extract_mtp,
  graft_mtp,
  drop_layers,
  keep_experts,
  script,
};

struct EditActionInfo {
  EditAction action;
  std::string_view name;      ///< without the dashes: "set"
  std::string_view operands;  ///< "KEY=VALUE"; words apart by a blank where there are two
  std::string_view help;

  std::size_t operand_count() const;
};

/// Every operation, in the order of the help text.
std::span<const EditActionInfo> edit_actions();
const EditActionInfo& edit_action_info(EditAction action);

struct EditOperation {
  EditAction action = EditAction::set;
  std::vector<std::string> operands;  ///< as many as the table says
  std::string place = {};             ///< "line 3 of FILE" in a script, else empty

  /// "--set", or "--set (line 3 of FILE)": what messages call it.
  std::string where() const;
};

/// The lines of a script: NAME OPERANDS, with or without the dashes in front; what follows the name and blanks, to the
/// end of the line, is the operand as it is. Empty lines and lines that begin with # are passed over. Errors of kind
/// usage: an unknown name, missing operands, a script in a script.
Result<std::vector<EditOperation>> parse_edit_script(std::string_view text, const std::string& name);

/// The operations with every script replaced by its lines, in order. Errors: reading; those of parse_edit_script().
Result<std::vector<EditOperation>> expand_scripts(std::vector<EditOperation> operations);

/// A text file that an operation names, whole; "-" is standard input. Errors: reading; "edit-file-size" above 256 MiB.
Result<std::string> read_operand_file(const std::string& path);

}  // namespace modelutils::edit
