#include "verify/against/against.h"

#include <fmt/core.h>

#include <array>

#include "verify/against/bump5_gguf.h"
#include "verify/against/bump_gguf.h"
#include "verify/against/models.h"

namespace modelutils {

namespace {

// Compares a converted model with its source, tensor by tensor.
struct ParityRules {
  Format converted;  // the verified model
  Format source;
  Result<FindingLog> (*compare)(const CheckedModel& checked, const Model& converted, Model source);
};

const std::array parity_table = {
    ParityRules{Format::bump, Format::gguf, compare_bump_with_gguf},
    ParityRules{Format::bump4, Format::gguf, compare_bump5_with_gguf},
    ParityRules{Format::bump5, Format::gguf, compare_bump5_with_gguf},
    ParityRules{Format::gguf, Format::mlx, compare_models_strictly},
    ParityRules{Format::gguf, Format::gguf, compare_models_strictly},
    ParityRules{Format::mlx, Format::gguf, compare_models_strictly},
    ParityRules{Format::safetensors, Format::pytorch, compare_models_strictly},
    ParityRules{Format::pytorch, Format::safetensors, compare_models_strictly},
    ParityRules{Format::mlx, Format::mlx, compare_models_strictly},
};

Result<const ParityRules*> find_parity(Format converted, const PathProbe& source) {
  if (!source.format) return tl::make_unexpected(unknown_format(source));
  for (const ParityRules& rules : parity_table) {
    if (rules.converted == converted && rules.source == source.format) return &rules;
  }
  return input_error("verify-no-parity",
                     fmt::format("cannot compare {} with {}; model-diff compares any two models",
                                 format_info(converted).noun, format_info(*source.format).noun),
                     {}, {}, source.path);
}

Result<FindingLog> compare(const CheckedModel& checked, const Model& converted, PathProbe source) {
  MU_ASSIGN(const ParityRules* rules, find_parity(converted.format, source));
  MU_ASSIGN(Model model, open_model(std::move(source)));
  return rules->compare(checked, converted, std::move(model));
}

}  // namespace

FindingLog compare_with_source(const CheckedModel& checked, const Model& converted, const PathProbe& source) {
  Result<FindingLog> found = compare(checked, converted, source);
  if (found) return std::move(*found);
  const Error& error = found.error();
  Finding finding = without_path(error, Scope::model);
  finding.message = fmt::format("--against {}: {}", error.file.empty() ? source.path : error.file, error.message);
  finding.offset.reset();
  FindingLog log;
  log.add(std::move(finding));
  return log;
}

}  // namespace modelutils
