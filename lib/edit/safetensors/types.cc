#include <fmt/core.h>

#include <algorithm>

#include "base/not_found.h"
#include "base/text.h"
#include "edit/safetensors/edited_set.h"
#include "model/forms/foreign_forms.h"

namespace modelutils::to_safetensors {

namespace {

bool may_be_cast(const EditedSet& set, const EditedTensor& tensor) {
  if (tensor.decoded != nullptr) return true;
  return is_castable(*set.source(tensor).type) && !set.followers.is_quantized(tensor.origin);
}

Status cast(EditedSet& set, const StOperation& operation, std::string_view glob, TensorType type) {
  bool is_any = false;
  ClosestName closest(glob);
  for (EditedTensor& tensor : set.tensors) {
    closest.offer(tensor.name);
    if (!glob_match(glob, tensor.name)) continue;
    is_any = true;
    if (may_be_cast(set, tensor)) tensor.type = type;
  }
  if (is_any) return {};
  return no_match_error(fmt::format("{} '{}'", operation.where(), glob),
                        "matches no tensor" + closest.hint("; st-dump lists them"), set.report.input);
}

tl::unexpected<Error> cannot_decode(const std::string& message, std::string_view tensor) {
  return input_error("edit-dequantize", "--dequantize: " + message, tensor.empty() ? std::string() : at_tensor(tensor));
}

// Returns the weight's name after decoding: "….weight" for "….qweight" and "….weight_packed".
std::string decoded_name(const std::string& codes) {
  const std::string_view module = module_of_codes(codes);
  return module.empty() ? codes : std::string(module) + ".weight";
}

Status check_method(const EditedSet& set) {
  const SafetensorsModel& model = *set.model.safetensors;
  if (!model.foreign.refusal.empty()) return cannot_decode(model.foreign.refusal, {});
  if (set.model.weights().broken) return tl::make_unexpected(*set.model.weights().broken);
  for (const auto& module : model.modules.list) {
    if (!module.quantized || module.decodable) continue;
    return cannot_decode("the weight's tensors do not fit a known form",
                         set.model.catalog().tensors[module.weight()].name);
  }
  for (const Finding& finding : model.modules.findings) {
    if (finding.severity == Severity::error) return tl::make_unexpected(finding);
  }
  return {};
}

void forget_quantization(EditedSet& set) {
  set.dropped_files.insert(set.dropped_files.end(),
                           {"hf_quant_config.json", "quantize_config.json", "quant_config.json"});
  if (!set.config) return;
  for (const char* const path : {"quantization", "quantization_config", "text_config/quantization",
                                 "text_config/quantization_config", "compression_config"}) {
    set.config->remove(path);
  }
}

Status dequantize_all(EditedSet& set, const StOperation& operation) {
  MU_ASSIGN(const TensorType type, dtype_of_text(operation.operand, operation.where()));
  MU_TRY(check_method(set));
  const Catalog& catalog = set.model.catalog();
  std::vector<bool> is_dropped(set.tensors.size(), false);
  bool is_any = false;
  for (std::size_t i = 0; i < set.tensors.size(); ++i) {
    EditedTensor& tensor = set.tensors[i];
    const Weight* weight = set.model.weights().of_codes(catalog.tensors[tensor.origin]);
    if (weight == nullptr || !weight->is_quantized()) {
      is_dropped[i] = set.followers.leader[tensor.origin] != no_place;
      continue;
    }
    is_any = true;
    const u64 units = tensor.ne.empty() ? 1 : tensor.ne.back();
    const u64 all = weight->ne.empty() ? 1 : weight->ne.back();
    tensor.decoded = weight;
    tensor.type = type;
    tensor.ne = weight->ne;
    tensor.unit = std::max<u64>(element_count(weight->ne).value_or(0) / std::max<u64>(all, 1), 1);
    // True if only some of the experts are kept. Other weights may be packed along the units, so they are taken as a
    // whole.
    const bool is_cut = tensor.parts.size() != 1 || tensor.parts.front().from.base != 0 ||
                        tensor.parts.front().units() !=
                            (catalog.tensors[tensor.origin].ne.empty() ? 1 : catalog.tensors[tensor.origin].ne.back());
    if (is_cut) {
      tensor.ne.back() = units;
    } else {
      tensor.parts.assign(1, whole_part(tensor.origin, all));
    }
    tensor.name = decoded_name(tensor.name);
  }
  if (!is_any) return cannot_decode("the model has no quantised weight", {});
  drop_tensors(set, is_dropped);
  forget_quantization(set);
  return {};
}

}  // namespace

bool is_castable(TensorType type) {
  switch (type) {
    case TensorType::F64:
    case TensorType::F32:
    case TensorType::F16:
    case TensorType::BF16:
    case TensorType::F8_E4M3:
    case TensorType::F8_E5M2:
    case TensorType::F8_E4M3FNUZ:
    case TensorType::F8_E5M2FNUZ: return true;
    default: return false;
  }
}

Status edit_types(EditedSet& set, const StOperation& operation) {
  if (operation.action == StAction::dequantize) return dequantize_all(set, operation);
  if (operation.action == StAction::dtype) {
    MU_ASSIGN(const TensorType type, dtype_of_text(operation.operand, operation.where()));
    return cast(set, operation, "*", type);
  }
  MU_ASSIGN(const OldNew pair, split_operand(operation));
  MU_ASSIGN(const TensorType type, dtype_of_text(pair.right, operation.where()));
  return cast(set, operation, pair.left, type);
}

}  // namespace modelutils::to_safetensors
