#include "arch/cache_facts.h"

#include <algorithm>

#include "arch/families.h"
#include "arch/families/runtime_only.h"

namespace modelutils::arch {

namespace {

const Family* first_family(std::string_view architecture) {
  const std::span<const Family* const> families = all_families();
  const auto found = std::ranges::find(families, architecture, &Family::gguf);
  return found == families.end() ? nullptr : *found;
}

}  // namespace

const CacheFacts* find_cache_facts(std::string_view architecture) {
  if (const Family* family = first_family(architecture)) return &family->cache;
  const std::span<const RuntimeArchitecture> others = runtime_architectures();
  const auto found = std::ranges::find_if(
      others, [&](const RuntimeArchitecture& other) { return has_name(other.names, architecture); });
  return found == others.end() ? nullptr : &found->cache;
}

bool is_behind_layers(std::string_view architecture, std::string_view tensor) {
  const Family* family = first_family(architecture);
  return family != nullptr &&
         std::ranges::find(family->last_tensors, tensor, &Tensor::name) != family->last_tensors.end();
}

}  // namespace modelutils::arch
