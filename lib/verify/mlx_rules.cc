#include "verify/mlx_rules.h"

#include <fmt/format.h>

#include <unordered_map>

#include "arch/families.h"
#include "model/safetensors_catalog.h"
#include "verify/mlx_rule_parts.h"
#include "verify/safetensors_rules.h"

namespace modelutils {

namespace mlx_rules {

void remark(FindingLog& log, Severity severity, std::string_view code, std::string where, std::string message) {
  Finding finding;
  finding.severity = severity;
  finding.scope = Scope::model;
  finding.code = code;
  finding.where = std::move(where);
  finding.message = std::move(message);
  log.add(std::move(finding));
}

bool is_whole_model(const SafetensorsModel& model) {
  for (const safetensors::TensorRef ref : model.set.tensors) {
    if (model.set.tensor(ref).name.ends_with("embed_tokens.weight")) return true;
  }
  return false;
}

namespace {

struct Field {
  std::string_view name;
  bool present;
};

}  // namespace

void check_fields(const SafetensorsModel& model, FindingLog& log) {
  const hf::Config& config = *model.config;
  const bool whole = is_whole_model(model);
  // A field of a wrong type is there: that it is of no use has been said (hf-config-field).
  if (config.model_type.empty() && config.field("model_type") && !config.string_field("model_type")) return;
  if (config.model_type.empty()) {
    remark(log, whole ? Severity::error : Severity::note, "hf-config-missing", "config.json field 'model_type'",
           "is missing: the kind of model cannot be determined");
    return;
  }
  const arch::Family* known = arch::find_family(config);
  if (known == nullptr) return;
  Severity severity = is_mlx(model) ? Severity::error : Severity::warning;
  if (!whole || known->class_has_defaults) severity = Severity::note;
  const Field fields[] = {
      {"hidden_size", config.embedding_length.has_value()},
      {"num_hidden_layers", config.block_count.has_value()},
      {"intermediate_size", config.feed_forward_length.has_value()},
      {"num_attention_heads", config.head_count.has_value()},
      {"rms_norm_eps", config.rms_norm_eps.has_value()},
      {"vocab_size", config.vocab_size.has_value()},
  };
  for (const Field& field : fields) {
    if (field.present || config.field(field.name)) continue;
    remark(log, severity, "hf-config-missing", fmt::format("config.json field '{}'", field.name),
           fmt::format("is missing, but {} models need it", config.model_type));
  }
}

}  // namespace mlx_rules

FindingLog model_directory_rules(const SafetensorsModel& model) {
  FindingLog log;
  if (model.config_error) {
    Finding finding = to_finding(*model.config_error, Scope::model);
    finding.file = "config.json";
    log.add(std::move(finding));
  }
  if (!model.config) return log;
  log.add_all(model.config->findings);
  log.add_all(model.quantization.findings);
  log.add_all(model.modules.findings);
  if (!model.quantization.foreign_method.empty()) {
    mlx_rules::remark(log, Severity::note, "hf-quant-method", "config.json field 'quantization_config'",
                      fmt::format("the weights are quantised with '{}', not by MLX: how they are packed is not checked",
                                  model.quantization.foreign_method));
  }
  mlx_rules::check_fields(model, log);
  mlx_rules::check_geometry(model, log);
  return log;
}

namespace {

// Tells --data which tensors belong together.
void note_packed_weights(const SafetensorsModel& model, CheckedModel& checked) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < checked.catalog.tensors.size(); ++i) places.emplace(checked.catalog.tensors[i].name, i);
  const auto place_of = [&](std::size_t index) {
    if (index == mlx::no_tensor) return mlx::no_tensor;
    const safetensors::Tensor& tensor = model.set.tensor(model.set.tensors[index]);
    const auto found = places.find(tensor.name);
    if (found == places.end()) return mlx::no_tensor;
    const CatalogTensor& listed = checked.catalog.tensors[found->second];  // a name may stand there twice
    return listed.type == tensor.type && listed.bytes == tensor.bytes() ? found->second : mlx::no_tensor;
  };
  for (const mlx::Module& module : model.modules.list) {
    if (!module.decodable) continue;
    const mlx::ModeInfo& mode = mlx::mode_info(module.params->mode);
    PackedWeight packed{*module.params, place_of(module.weight), place_of(module.scales),
                        mode.has_biases ? place_of(module.biases) : mlx::no_tensor};
    if (packed.weight == mlx::no_tensor || packed.scales == mlx::no_tensor) continue;
    if (mode.has_biases && packed.biases == mlx::no_tensor) continue;
    // E8M0 in bytes that safetensors can only call U8: as E8M0 their NaN code is found.
    if (mode.mode == mlx::Mode::mxfp4 || mode.mode == mlx::Mode::mxfp8) {
      checked.catalog.tensors[packed.scales].type = TensorType::F8_E8M0;
    }
    checked.packed.push_back(packed);
  }
}

}  // namespace

Result<CheckedModel> check_model_directory(const Model& opened) {
  const SafetensorsModel& model = *opened.safetensors;
  CheckedModel checked;
  checked.format_text = is_mlx(model) ? "MLX" : "Hugging Face";
  checked.findings = safetensors_container_rules(model.set);
  checked.findings.add_all(model_directory_rules(model));
  checked.findings.add_all(side_file_rules(model));
  checked.catalog = safetensors_catalog(model.set);
  checked.catalog.format = format_info(Format::mlx).name;
  note_packed_weights(model, checked);
  return checked;
}

}  // namespace modelutils
