#include <fmt/core.h>

#include "adapter/pairs.h"
#include "arch/adapter_facts.h"
#include "base/place.h"

namespace modelutils::adapter {

Status check_scaled(const Adapter& adapter, const Base& base, const std::vector<Pair>& pairs) {
  for (const Pair& pair : pairs) {
    const auto scaled = base.scaled.find(pair.name);
    if (scaled == base.scaled.end()) continue;
    const std::string_view lost = arch::scaled_pair_is_lost(*base.family, pair.row, scaled->second);
    if (lost.empty()) continue;
    return input_error(
        "adapter-merge",
        fmt::format("would become a LoRA pair on {}, which {}; merge the adapter (mlx2gguf BASE --lora ADAPTER)",
                    pair.name, lost),
        at_tensor(adapter.modules[pair.blocks.front().module].name), {}, adapter.path);
  }
  return {};
}

}  // namespace modelutils::adapter
