// The operations of st-edit, and the rows of its options.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/types.h"
#include "tensor/types.h"

namespace modelutils::to_safetensors {

enum class StAction : u8 {
  keep,
  drop,
  rename,
  strip_prefix,
  add_prefix,
  dtype,
  dtype_of,
  dequantize,
  set,
  unset,
  drop_layers,
  keep_experts,
  text_only,
  lora,
  shift_norms,
};

struct StActionInfo {
  StAction action;
  std::string_view name;     ///< without the dashes: "keep"
  std::string_view operand;  ///< "GLOB"; empty for none
  std::string_view help;
  std::string_view synonyms = {};  ///< gguf-edit's names for it, "--drop-tensor|--x"
};

/// Returns all operations in the order of the help text.
std::span<const StActionInfo> st_actions();

struct StOperation {
  StAction action = StAction::keep;
  std::string operand;

  /// Returns the operation as messages name it: "--keep".
  std::string where() const;
};

/// Returns the type of --dtype: BF16, F16, F32 or F8_E4M3, in any case. Fails with a usage error.
Result<TensorType> dtype_of_text(std::string_view text, const std::string& where);

/// The two sides of OLD=NEW.
struct OldNew {
  std::string left;
  std::string right;
};
/// Splits the operand at the first '='. Fails with a usage error if there is none, or nothing before it.
Result<OldNew> split_operand(const StOperation& operation);

}  // namespace modelutils::to_safetensors
