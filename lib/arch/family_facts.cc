#include "arch/family_facts.h"

#include <algorithm>

#include "arch/families.h"
#include "arch/families/runtime_only.h"

namespace modelutils::arch {

namespace {

constexpr TokenizerFacts no_facts;

const TokenizerFacts& facts_of(const Family* family) {
  return family != nullptr ? family->tokenizer : no_facts;
}

}  // namespace

const TokenizerFacts& tokenizer_facts(std::string_view hf_class, std::string_view model_type) {
  return facts_of(find_family(hf_class, model_type));
}

const TokenizerFacts& tokenizer_facts(std::string_view gguf_architecture) {
  return facts_of(find_gguf_family(gguf_architecture));
}

std::string_view pre_of_model_type(std::string_view TokenizerFacts::*list, std::string_view model_type) {
  std::string_view found;
  for (const Family* family : all_families()) {
    for_each_name(family->tokenizer.*list, [&](std::string_view pair) {
      const std::size_t equals = pair.find('=');
      if (found.empty() && pair.substr(0, equals) == model_type) found = pair.substr(equals + 1);
    });
  }
  return found;
}

const CacheFacts* find_cache_facts(std::string_view architecture) {
  if (const Family* family = find_gguf_family(architecture)) return &family->cache;
  const std::span<const RuntimeArchitecture> others = runtime_architectures();
  const auto found = std::ranges::find_if(
      others, [&](const RuntimeArchitecture& other) { return has_name(other.names, architecture); });
  return found == others.end() ? nullptr : &found->cache;
}

bool is_behind_layers(std::string_view architecture, std::string_view tensor) {
  const Family* family = find_gguf_family(architecture);
  return family != nullptr &&
         std::ranges::find(family->last_tensors, tensor, &Tensor::name) != family->last_tensors.end();
}

}  // namespace modelutils::arch
