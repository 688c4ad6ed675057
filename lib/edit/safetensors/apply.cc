#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/name_index.h"
#include "base/text.h"
#include "edit/safetensors/edited_set.h"

namespace modelutils::to_safetensors {

namespace {

std::string_view torch_name(TensorType type) {
  switch (type) {
    case TensorType::F32: return "float32";
    case TensorType::F16: return "float16";
    case TensorType::BF16: return "bfloat16";
    case TensorType::F8_E4M3: return "float8_e4m3fn";
    default: return {};
  }
}

// Sets the dtype in config.json to the type of most bytes.
void follow_types(EditedSet& set) {
  if (!set.config) return;
  std::map<TensorType, u64> bytes;
  for (const EditedTensor& tensor : set.tensors) {
    const bool counts =
        is_castable(tensor.type) && (tensor.decoded != nullptr || !set.followers.is_quantized(tensor.origin));
    if (counts) bytes[tensor.type] += tensor.bytes();
  }
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& each) { return each.second; });
  if (most == bytes.end() || torch_name(most->first).empty()) return;
  const std::string name = hf::json_string(torch_name(most->first));
  for (const char* const parent : {"", "text_config/", "thinker_config/", "thinker_config/text_config/"}) {
    for (const char* const field : {"torch_dtype", "dtype"}) {
      const std::string path = std::string(parent) + field;
      const auto value = set.config->find(path);
      if (!value || !value->starts_with('"') || *value == name) continue;
      set.report.changes.push_back(fmt::format("config.json: {} {} → {}", path, *value, name));
      set.config->set(path, name);
    }
  }
}

Status check_unique(const EditedSet& set) {
  NameIndex names;
  for (const EditedTensor& tensor : set.tensors) {
    if (names.insert(tensor.name).is_new) continue;
    return input_error("edit-exists", "two tensors would have this name", at_tensor(tensor.name));
  }
  return {};
}

}  // namespace

Status apply_operations(EditedSet& set, const std::vector<StOperation>& operations) {
  const auto is_of_types = [](StAction action) {
    return action == StAction::dtype || action == StAction::dtype_of || action == StAction::dequantize;
  };
  std::vector<std::string> more_kept;
  std::vector<adapter::Wanted> adapters;
  for (const StOperation& operation : operations) {
    if (operation.action == StAction::keep) more_kept.push_back(operation.operand);
    if (operation.action != StAction::lora) continue;
    MU_ASSIGN(adapter::Wanted wanted, adapter::parse_wanted(operation.operand));
    adapters.push_back(std::move(wanted));
  }
  bool is_kept = false, has_types = false;
  for (const StOperation& operation : operations) {
    switch (operation.action) {
      case StAction::keep:
        if (is_kept) break;
        is_kept = true;
        MU_TRY(edit_names(set, operation, {more_kept.begin() + 1, more_kept.end()}));
        break;
      case StAction::drop:
      case StAction::rename:
      case StAction::strip_prefix:
      case StAction::add_prefix: MU_TRY(edit_names(set, operation, {})); break;
      case StAction::set:
      case StAction::unset: MU_TRY(edit_metadata(set, operation)); break;
      case StAction::dtype:
      case StAction::dtype_of:
      case StAction::dequantize: MU_TRY(edit_types(set, operation)); break;
      case StAction::drop_layers: MU_TRY(drop_layers(set, operation)); break;
      case StAction::keep_experts: MU_TRY(keep_experts(set, operation)); break;
      case StAction::text_only: MU_TRY(keep_text(set, operation)); break;
      case StAction::lora: break;  // below: adapters name the source's tensors, and the types must be known
      case StAction::shift_norms: MU_TRY(shift_norms(set)); break;
    }
    has_types = has_types || is_of_types(operation.action);
  }
  if (!adapters.empty()) MU_TRY(merge_adapters(set, adapters));
  MU_TRY(check_unique(set));
  if (has_types) follow_types(set);
  return {};
}

}  // namespace modelutils::to_safetensors
