#include "verify/against/gguf_gguf.h"

#include "model/gguf_catalog.h"
#include "rules/gguf/rules.h"
#include "verify/against/tensors.h"

namespace modelutils {

Result<FindingLog> compare_gguf_with_gguf(const CheckedModel& checked, const Model&, Model source) {
  const auto findings = gguf_container_findings(*source.gguf);
  if (const Finding* broken = first_error(findings)) return tl::make_unexpected(with_path(*broken, source.path()));
  const Catalog catalog = gguf_catalog(*source.gguf);
  std::vector<ExpectedSource> sources;
  for (const CatalogTensor& tensor : catalog.tensors) {
    sources.push_back(
        {tensor.name, tensor.ne, [&] { return std::make_unique<MatrixValues>(values_of(catalog, tensor)); },
         [&](TensorType type) -> Result<bool> { return type == tensor.type || type == TensorType::F32; }});
  }
  return compare_with_sources(sources, checked.catalog);
}

}  // namespace modelutils
