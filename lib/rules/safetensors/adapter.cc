#include "rules/safetensors/adapter.h"

#include "rules/safetensors/rules.h"

namespace modelutils {

Result<adapter::Adapter> open_adapter(const std::string& directory) {
  const ModelFolder folder(directory);
  MU_ASSIGN(const safetensors::ShardSet weights, adapter::open_weights(folder));
  const Findings container = safetensors_container_findings(weights);
  if (const Finding* broken = first_error(container)) return tl::make_unexpected(with_path(*broken, weights.path));
  return adapter::read_adapter(folder, weights);
}

}  // namespace modelutils
