#include "rules/directory/mlx_rules.h"

#include <fmt/core.h>

#include <algorithm>

#include "arch/families.h"
#include "arch/names.h"
#include "hf/tensor_names.h"
#include "rules/directory/mlx_rule_parts.h"
#include "rules/safetensors/rules.h"

namespace modelutils {

namespace mlx_rules {

namespace {

constexpr std::string_view embedding_row = "token_embd";  // the row's name in lib/arch

}  // namespace

const Module* embedding_of(const SafetensorsModel& model) {
  std::vector<std::string_view> names = {"model.embed_tokens"};
  if (const arch::Family* family = model.config ? arch::find_family(*model.config) : nullptr; family != nullptr) {
    const auto row = std::ranges::find(family->first_tensors, embedding_row, &arch::Tensor::name);
    if (row == family->first_tensors.end()) return nullptr;
    names.clear();
    for (const arch::SourceAlternative& alternative : arch::parse_source(row->source)) {
      names.push_back(alternative.parts.front().module);
    }
  }
  for (const Module& module : model.modules.list) {
    const bool may_be = std::ranges::any_of(names, [&](std::string_view name) { return module.path.ends_with(name); });
    if (may_be && std::ranges::count(names, hf::canonical_name(module.path)) > 0) return &module;
  }
  return nullptr;
}

namespace {

// True if config.json must have one of the key's fields because nothing else determines the value.
bool states_it_alone(const arch::Key& key) {
  const bool is_size_of_all = key.symbol == arch::symbol::feed_forward || key.symbol == arch::symbol::vocabulary;
  return !key.fields.empty() && key.fallback.empty() && key.when.empty() && key.write == nullptr &&
         key.derive == nullptr && key.derive_layers == nullptr && (key.need == arch::Need::required || is_size_of_all);
}

}  // namespace

void check_fields(const SafetensorsModel& model, FindingLog& log) {
  const hf::Config& config = *model.config;
  const bool whole = embedding_of(model) != nullptr;
  // A field of the wrong type already has a finding (hf-config-field).
  if (config.model_type.empty() && config.field("model_type") && !config.string_field("model_type")) return;
  if (config.model_type.empty()) {
    log.add(whole ? Severity::error : Severity::note, Scope::model, "hf-config-missing",
            "is missing: the kind of model cannot be determined", at_field("model_type"));
    return;
  }
  const arch::Family* known = arch::find_family(config);
  if (known == nullptr) return;
  Severity severity = is_mlx(model) ? Severity::error : Severity::warning;
  if (!whole || known->class_has_defaults) severity = Severity::note;
  // Wrappers leave values to their class's defaults (Pixtral: heads). With head_dim the heads follow from the tensors.
  const bool tensors_tell_heads = config.has_text_config && config.u64_field("head_dim").has_value();
  for (const arch::Key* key : arch::keys_of(*known)) {
    if (!states_it_alone(*key) || config.field(key->fields)) continue;
    if (tensors_tell_heads && key->symbol == arch::symbol::heads) continue;
    log.add(severity, Scope::model, "hf-config-missing",
            fmt::format("is missing, but {} models need it", config.model_type),
            at_field(arch::first_name(key->fields)));
  }
}

}  // namespace mlx_rules

FindingLog model_directory_rules(const SafetensorsModel& model) {
  FindingLog log;
  if (model.config_error) {
    log.add(without_path(*model.config_error, Scope::model, "config.json"));
  }
  if (!model.config) return log;
  log.add_all(model.config->findings);
  log.add_all(model.quantization.findings);
  log.add_all(model.modules.findings);
  if (!model.quantization.foreign_method.empty() && (!model.foreign.is_known || !model.foreign.refusal.empty())) {
    log.note(Scope::model, "hf-quant-method",
             fmt::format(
                 "the weights are quantised with '{}', which is not a known method: how they are packed is not checked",
                 model.quantization.foreign_method),
             at_field("quantization_config"));
  }
  mlx_rules::check_layout(model, log);
  mlx_rules::check_fields(model, log);
  mlx_rules::check_geometry(model, log);
  return log;
}

namespace {

// Records for --data which tensors form a packed weight.
void note_packed_weights(const SafetensorsModel& model, CheckedModel& checked) {
  const auto if_readable = [&](std::size_t place) {
    return place != mlx::no_tensor && checked.catalog.tensors[place].is_readable() ? place : mlx::no_tensor;
  };
  for (const Module& module : model.modules.list) {
    if (!module.decodable || module.form->kind != FormKind::mlx) continue;
    const mlx::ModeInfo& mode = mlx::mode_info(module.form->params.mode);
    PackedWeight packed{module.form->params, if_readable(module.weight()), if_readable(module.planes[1]),
                        mode.has_biases ? if_readable(module.planes[2]) : mlx::no_tensor};
    if (packed.weight == mlx::no_tensor || packed.scales == mlx::no_tensor) continue;
    if (mode.has_biases && packed.biases == mlx::no_tensor) continue;
    // safetensors can only label E8M0 scales as U8. Checking them as E8M0 finds their NaN code.
    if (mode.mode == mlx::Mode::mxfp4 || mode.mode == mlx::Mode::mxfp8) {
      checked.catalog.tensors[packed.scales].type = TensorType::F8_E8M0;
    }
    checked.packed.push_back(packed);
  }
}

}  // namespace

Result<CheckedModel> check_model_directory(const Model& opened, unsigned /*threads*/) {
  const SafetensorsModel& model = *opened.safetensors;
  CheckedModel checked;
  checked.format_text = is_mlx(model) ? "MLX" : "Hugging Face";
  checked.findings = safetensors_container_rules(model.set);
  checked.findings.add_all(model_directory_rules(model));
  checked.findings.add_all(side_file_rules(model));
  checked.catalog = opened.catalog();
  note_packed_weights(model, checked);
  return checked;
}

}  // namespace modelutils
