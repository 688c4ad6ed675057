// Any bytes -> config.json: its family, its quantisation settings, and the modules that these apply to. The results
// must be consistent.
#include <cstdlib>
#include <vector>

#include "arch/families.h"
#include "arch/geometry.h"
#include "arch/key_writer.h"
#include "arch/names.h"
#include "formats/hf/config.h"
#include "model/mlx/modules.h"

using namespace modelutils;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check_params(const mlx::Params& params) {
  require(!mlx::params_problem(params.mode, params.bits, params.group_size));
  require(params.group_bytes() % 4 == 0 && params.group_bytes() * 8 == params.group_size * params.bits);
}

const std::vector<arch::Names>& every_family() {
  static const std::vector<arch::Names> all = [] {
    std::vector<arch::Names> names;
    for (const arch::Family* family : arch::all_families()) names.emplace_back(*family);
    return names;
  }();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto config = hf::parse_config({reinterpret_cast<const char*>(data), size}, "config.json");
  if (!config) return 0;
  if (const arch::Family* family = arch::find_family(*config)) {
    // As verify and the converters do, before they read tensors.
    (void)arch::check_stated_sizes(*family, *config);
    const arch::Sizes sizes = arch::stated_sizes(*family, *config);
    require(sizes.get(arch::symbol::layers) <= arch::max_layers);
    (void)arch::refuse_unsupported(*family, *config, sizes);
    (void)arch::solve_sizes(*family, *config, 2, {}, sizes);
  }
  const mlx::Quantization quantization = mlx::read_quantization(*config);
  if (quantization.top) check_params(*quantization.top);
  for (const auto& [path, entry] : quantization.overrides) {
    if (entry.rule == mlx::Quantization::Rule::params) check_params(entry.params);
    (void)quantization.params_for(path);
    for (const arch::Names& names : every_family()) {
      const auto target = names.gguf_tensor(path + ".weight");
      if (!target) continue;
      const auto back = names.source_tensor(*target);
      require(!back || names.gguf_tensor(*back) == target);  // the reverse may be the sum of several tensors
    }
  }
  const u64 weight[] = {2, 12};
  const u64 scales[] = {2, 3};
  const mlx::TensorRef tensors[] = {{"a.weight", TensorType::U32, weight},
                                    {"a.scales", TensorType::F16, scales},
                                    {"a.biases", TensorType::F16, scales},
                                    {"lm_head.weight", TensorType::U32, weight}};
  const mlx::Modules modules = mlx::find_modules(tensors, quantization);
  require(modules.list.size() == 2);
  for (const mlx::Module& module : modules.list) {
    if (!module.decodable) continue;
    require(module.params.has_value() && module.shape.size() == 2);
    require(module.shape[1] == 3u * module.params->group_size && module.shape[1] * module.params->bits == 12u * 32u);
  }
  return 0;
}
