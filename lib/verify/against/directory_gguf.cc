#include "verify/against/directory_gguf.h"

#include <fmt/core.h>

#include <unordered_map>

#include "base/parallel.h"
#include "mlx/block_form.h"
#include "model/gguf_catalog.h"
#include "rules/gguf/rules.h"
#include "tensor/shape.h"
#include "to_directory/block_facts.h"
#include "to_directory/tensor_map.h"
#include "to_gguf/rows.h"
#include "to_gguf/tensor_map.h"
#include "verify/against/tensors.h"

namespace modelutils {

namespace {

std::string form_text(const HfModel& model, const MappedTensor& tensor) {
  if (tensor.parts.empty()) return "computed from config.json";
  const SourceMatrix& matrix = model.matrices[tensor.parts.front().matrix];
  return text_with_scales(matrix.form);
}

bool holds(TensorType narrow, TensorType wide) {
  return narrow == wide || narrow == TensorType::F32;
}

// Does the packed matrix have the blocks' own form, and do its scales hold theirs?
Result<bool> is_exact_packing(const SourceMatrix& matrix, const Catalog& catalog, const CatalogTensor& tensor) {
  const std::optional<mlx::Params> params = mlx::exact_params(*tensor.type);
  const mlx::Params& packed = matrix.form.params;
  if (!params || matrix.form.kind != FormKind::mlx || params->mode != packed.mode) return false;
  if (params->mode == mlx::Mode::affine) {
    const bool is_narrowed = tensor.type == TensorType::Q4_1 && packed.bits < params->bits;
    if (packed.bits != params->bits && !is_narrowed) return false;
  }
  MU_ASSIGN(const BlockFacts facts, facts_of_blocks(catalog, tensor, default_threads()));
  if (params->mode != mlx::Mode::affine) return facts.foreign_scales == 0;
  const TensorType scales = matrix.form.types[1];
  return facts.finite && (scales == TensorType::F32 || (scales == TensorType::F16 ? facts.fits_f16 : facts.fits_bf16));
}

Result<bool> is_exact_form(const HfModel& model, const MappedTensor& mapped, const Catalog& catalog,
                           const CatalogTensor& tensor) {
  if (mapped.parts.empty()) return false;
  const SourceMatrix& matrix = model.matrices[mapped.parts.front().matrix];
  if (!matrix.is_quantized())
    return mapped.operation == arch::Operation::none && holds(matrix.form.type(), *tensor.type);
  if (mapped.has_computed_rows()) return false;
  return is_exact_packing(matrix, catalog, tensor);
}

}  // namespace

Result<FindingLog> compare_directory_with_gguf(const CheckedModel&, const Model& converted, Model source) {
  const auto findings = gguf_container_findings(*source.gguf);
  if (const Finding* broken = first_error(findings)) return tl::make_unexpected(with_path(*broken, source.path()));
  const Catalog catalog = gguf_catalog(*source.gguf);
  MU_ASSIGN(PathProbe probe, probe_path(converted.path(), converted.probe.links));
  MU_ASSIGN(Model again, open_model(std::move(probe)));
  MU_ASSIGN(const auto model, understand_model(std::move(*again.safetensors)));
  MU_ASSIGN(const TensorMap map, map_tensors(*model));
  MU_ASSIGN(const bool tied, is_tied(catalog));
  FindingLog log;
  const auto complain = [&](std::string_view code, const std::string& tensor, std::string message) {
    log.error(Scope::model, code, std::move(message), at_tensor(tensor));
  };
  std::unordered_map<std::string_view, const MappedTensor*> left;
  for (const MappedTensor& mapped : map.tensors) left.emplace(mapped.name, &mapped);
  std::vector<ParityPair> pairs;
  for (const CatalogTensor& tensor : catalog.tensors) {
    const auto found = left.find(tensor.name);
    if (found == left.end()) {
      if (tensor.name == "output.weight" && tied) continue;
      complain("parity-missing", tensor.name, "is in the source, but not in the converted directory");
      continue;
    }
    const MappedTensor& mapped = *found->second;
    left.erase(found);
    if (mapped.ne != tensor.ne) {
      complain("parity-shape", tensor.name,
               fmt::format("has shape {}, but the source has {}", shape_text(mapped.ne), shape_text(tensor.ne)));
      continue;
    }
    pairs.push_back({tensor.name,
                     [&catalog, &tensor] { return std::make_unique<MatrixValues>(values_of(catalog, tensor)); },
                     [&model, &mapped] { return values_of(*model, mapped); },
                     [&model, &mapped, &catalog, &tensor] { return is_exact_form(*model, mapped, catalog, tensor); },
                     form_text(*model, mapped)});
  }
  for (const MappedTensor& mapped : map.tensors) {
    const bool is_copy = mapped.name == "output.weight" && tied;
    if (left.contains(mapped.name) && !is_copy) {
      complain("parity-extra", mapped.name, "is in the converted directory, but not in the source");
    }
  }
  MU_TRY(compare_pairs(pairs, log));
  return log;
}

}  // namespace modelutils
