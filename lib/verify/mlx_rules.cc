#include "verify/mlx_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "hf/architecture.h"
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
  if (config.model_type.empty()) {
    remark(log, whole ? Severity::error : Severity::note, "hf-config-missing", "config.json field 'model_type'",
           "is missing: nobody can tell what kind of model this is");
    return;
  }
  const hf::Architecture* known = hf::find_architecture(config);
  if (known == nullptr) return;
  // Gemma 3 leaves out whatever equals its class's defaults; so does Mixtral in MLX. (docs/formats/mlx.md)
  const bool has_defaults = known->family == hf::Family::gemma3 || known->family == hf::Family::mixtral;
  Severity severity = is_mlx(model) ? Severity::error : Severity::warning;
  if (!whole || has_defaults) severity = Severity::note;
  const Field fields[] = {
      {"hidden_size", config.embedding_length.has_value()},
      {"num_hidden_layers", config.block_count.has_value()},
      {"intermediate_size", config.feed_forward_length.has_value()},
      {"num_attention_heads", config.head_count.has_value()},
      {"rms_norm_eps", config.rms_norm_eps.has_value()},
      {"vocab_size", config.vocab_size.has_value()},
  };
  for (const Field& field : fields) {
    if (field.present) continue;
    remark(log, severity, "hf-config-missing", fmt::format("config.json field '{}'", field.name),
           fmt::format("is missing, a {} model needs it", known->model_type));
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
    mlx_rules::remark(
        log, Severity::note, "hf-quant-method", "config.json field 'quantization_config'",
        fmt::format("the weights are quantised by '{}', which is not MLX's: how they are packed is not checked",
                    model.quantization.foreign_method));
  }
  mlx_rules::check_fields(model, log);
  mlx_rules::check_geometry(model, log);
  return log;
}

bool recognises_model_directory(const PathProbe& probe) {
  return probe.is_directory && probe.has_file("config.json");
}

Result<CheckedModel> check_model_directory(const PathProbe& probe) {
  MU_ASSIGN(const SafetensorsModel model, open_safetensors_model(probe.path));
  CheckedModel checked;
  checked.findings = safetensors_container_rules(model.set);
  checked.findings.add_all(model_directory_rules(model));
  checked.findings.add_all(side_file_rules(model));
  checked.catalog = safetensors_catalog(model.set);
  checked.catalog.format = "mlx";
  // The scales of MLX's mx modes are E8M0 in bytes that safetensors can only call U8: as E8M0 their NaN code is found.
  std::vector<std::string_view> scales;
  for (const mlx::Module& module : model.modules.list) {
    if (!module.decodable) continue;
    if (module.params->mode != mlx::Mode::mxfp4 && module.params->mode != mlx::Mode::mxfp8) continue;
    scales.push_back(model.set.tensor(model.set.tensors[module.scales]).name);
  }
  std::ranges::sort(scales);
  for (CatalogTensor& tensor : checked.catalog.tensors) {
    if (tensor.type == TensorType::U8 && std::ranges::binary_search(scales, std::string_view(tensor.name))) {
      tensor.type = TensorType::F8_E8M0;
    }
  }
  return checked;
}

}  // namespace modelutils
