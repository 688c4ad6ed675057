#include "edit/safetensors/operation.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace modelutils::to_safetensors {

namespace {

constexpr std::array actions = {
    StActionInfo{StAction::keep, "keep", "GLOB", "Keep only matching tensors; several --keep add up"},
    StActionInfo{StAction::drop, "drop", "GLOB", "Drop matching tensors", "--drop-tensor"},
    StActionInfo{StAction::rename, "rename", "OLD=NEW",
                 "Rename tensors; each * in NEW takes what the * in OLD matched (in gguf-edit, --rename renames keys)",
                 "--rename-tensor"},
    StActionInfo{StAction::strip_prefix, "strip-prefix", "TEXT", "Remove TEXT from the beginning of tensor names"},
    StActionInfo{StAction::add_prefix, "add-prefix", "TEXT", "Put TEXT before every tensor name"},
    StActionInfo{StAction::dtype, "dtype", "TYPE",
                 "Cast all floating-point tensors to bf16, f16, f32 or f8_e4m3; quantised weights and scales stay"},
    StActionInfo{StAction::dtype_of, "dtype-of", "GLOB=TYPE", "Cast matching floating-point tensors"},
    StActionInfo{StAction::dequantize, "dequantize", "TYPE",
                 "Write quantised weights as bf16, f16 or f32 (MLX, FP8, NVFP4, GPTQ, AWQ, compressed-tensors)"},
    StActionInfo{StAction::set, "set", "KEY=VALUE", "Set a key in the __metadata__ of every file"},
    StActionInfo{StAction::unset, "unset", "GLOB", "Remove matching keys from the __metadata__ of every file",
                 "--delete"},
    StActionInfo{StAction::drop_layers, "drop-layers", "LIST",
                 "Drop whole layers (20-27,30), renumber the rest and update config.json"},
    StActionInfo{StAction::keep_experts, "keep-experts", "LIST",
                 "Keep only these experts (0-31,40) in each layer, with their router rows"},
    StActionInfo{StAction::text_only, "text-only", "",
                 "Keep only the language model of a vision-language model, as a directory of its own"},
    StActionInfo{StAction::lora, "lora", "ADAPTER[=SCALE]",
                 "Merge a LoRA adapter, added in float32 and rounded once; may be repeated"},
    StActionInfo{StAction::shift_norms, "shift-norms", "",
                 "Repair norms shifted by one, where verify --data warns about them"},
};

}  // namespace

std::span<const StActionInfo> st_actions() {
  return actions;
}

std::string StOperation::where() const {
  const auto row =
      std::find_if(actions.begin(), actions.end(), [&](const auto& each) { return each.action == action; });
  return fmt::format("--{}", row->name);
}

Result<TensorType> dtype_of_text(std::string_view text, const std::string& where) {
  const std::optional<TensorType> type = type_from_name(text);
  constexpr std::array wanted = {TensorType::BF16, TensorType::F16, TensorType::F32, TensorType::F8_E4M3};
  const bool is_known = type && std::find(wanted.begin(), wanted.end(), *type) != wanted.end();
  if (is_known && !(where == "--dequantize" && *type == TensorType::F8_E4M3)) return *type;
  return usage_error(fmt::format("{} must be one of bf16, f16, f32{}, not '{}'", where,
                                 where == "--dequantize" ? "" : ", f8_e4m3", text));
}

Result<OldNew> split_operand(const StOperation& operation) {
  const std::size_t equals = operation.operand.find('=');
  if (equals == std::string::npos || equals == 0) {
    const auto row =
        std::find_if(actions.begin(), actions.end(), [&](const auto& each) { return each.action == operation.action; });
    return usage_error(fmt::format("{} needs {}, not '{}'", operation.where(), row->operand, operation.operand));
  }
  return OldNew{operation.operand.substr(0, equals), operation.operand.substr(equals + 1)};
}

}  // namespace modelutils::to_safetensors
