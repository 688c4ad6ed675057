// The operations of gguf-edit, and the values of --set and --set-from as GGUF stores them. One table serves the
// command line's options and the lines of scripts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/gguf/write.h"

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
  std::string_view operands;  ///< "KEY=VALUE"; two operands are separated by a space
  std::string_view help;
  std::string_view synonyms = {};  ///< st-edit's names for it, "--unset"

  std::size_t operand_count() const;
};

/// Returns all operations in the order of the help text.
std::span<const EditActionInfo> edit_actions();
const EditActionInfo& edit_action_info(EditAction action);

struct EditOperation {
  EditAction action = EditAction::set;
  std::vector<std::string> operands;  ///< as many as the table says
  std::string place = {};             ///< "line 3 of FILE" in a script, otherwise empty

  /// Returns the operation as messages name it: "--set" or "--set (line 3 of FILE)".
  std::string where() const;
};

/// Parses a script. Each line is NAME OPERANDS, with or without leading dashes; the operand is the rest of the line
/// after the name and spaces, unchanged. Skips empty lines and lines that begin with #. Errors of kind usage: an
/// unknown name, missing operands, a script within a script.
Result<std::vector<EditOperation>> parse_edit_script(std::string_view text, const std::string& name);

/// Replaces every script operation by the script's lines. Errors: those of reading and of parse_edit_script().
Result<std::vector<EditOperation>> expand_scripts(std::vector<EditOperation> operations);

/// Reads the whole text file of an operand; "-" is standard input. Errors: those of reading; "edit-file-size" above 256
/// MiB.
Result<std::string> read_operand_file(const std::string& path);

// Encodes the values of --set and --set-from as GGUF stores them.

/// The type of a key's value: a scalar, or an array of scalars.
struct EditType {
  gguf::ValueType type = gguf::ValueType::string;
  gguf::ValueType elements = gguf::ValueType::string;  ///< for arrays

  /// Returns a name such as "u32" or "string[]".
  std::string text() const;
};

/// Returns the type of a name such as "u32" or "string[]". Returns nullopt for other texts, and for "array", which
/// lacks the element type.
std::optional<EditType> edit_type_from_name(std::string_view name);
/// Returns the type of a key, or nullopt for arrays of arrays.
std::optional<EditType> edit_type_of(const gguf::OutKey& key);

/// Returns the bytes that follow the type field. Scalars are decimal numbers (also "nan", "inf", "-inf" for floats),
/// "true" or "false", or strings verbatim; arrays are JSON. Errors of kind usage: text that does not parse or does not
/// fit.
Result<std::string> encode_value(const EditType& type, std::string_view text);
/// Like encode_value(), for the text of a file: drops one trailing line feed; arrays have one element per line.
Result<std::string> encode_file_text(const EditType& type, std::string_view text);

}  // namespace modelutils::edit
