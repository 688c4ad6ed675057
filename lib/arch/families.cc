#include "arch/families.h"

#include <algorithm>
#include <array>
#include <string>

#include "arch/facts.h"
#include "arch/families/list.h"
#include "formats/hf/config.h"

namespace modelutils::arch {

namespace {

#define MU_FAMILY_ADDRESS(file, name) &families::file::name,
constexpr std::array all = {MU_ARCH_FAMILIES(MU_FAMILY_ADDRESS)};
#undef MU_FAMILY_ADDRESS

}  // namespace

std::span<const Family* const> all_families() {
  return all;
}

bool has_name(std::string_view names, std::string_view name) {
  bool found = false;
  for_each_name(names, [&](std::string_view candidate) { found = found || candidate == name; });
  return found && !name.empty();
}

std::vector<const Key*> keys_of(const Family& family) {
  std::vector<const Key*> keys;
  for (const std::span<const Key> group : family.keys) {
    for (const Key& key : group) keys.push_back(&key);
  }
  return keys;
}

const Family* find_family(std::string_view hf_class, std::string_view model_type) {
  for (const Family* family : all) {
    if (has_name(family->classes, hf_class)) return family;
  }
  for (const Family* family : all) {
    if (has_name(family->model_types, model_type)) return family;
  }
  return nullptr;
}

const Family* find_family(const hf::Config& config) {
  const Family* found = find_family(config.architecture, config.model_type);
  if (found != nullptr && found->fits != nullptr && !found->fits(config)) {
    const bool by_class = has_name(found->classes, config.architecture);
    const auto other = std::find_if(all.begin(), all.end(), [&](const Family* family) {
      const bool is_relative =
          by_class ? has_name(family->classes, config.architecture) : has_name(family->model_types, config.model_type);
      return is_relative && (family->fits == nullptr || family->fits(config));
    });
    found = other == all.end() ? nullptr : *other;
  }
  if (found == nullptr || has_name(found->classes, config.architecture)) return found;
  return config.architecture.empty() || config.has_text_config ? found : nullptr;
}

const Family* find_family(const gguf::Index& index) {
  const std::string_view pre = index.string_value("tokenizer.ggml.pre").value_or("");
  for (const Family* family : all) {
    if (family->gguf != index.architecture()) continue;
    const bool has_pre = !pre.empty() && family->gguf_pre == pre;
    if (has_pre || holds(family->gguf_when, stated_gguf_sizes(*family, index))) return family;
  }
  return nullptr;
}

bool uses_operation(const Family& family, std::string_view operation) {
  const std::string mark = "@" + std::string(operation);
  const auto uses = [&](std::span<const Tensor> rows) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const Tensor& row) { return row.source.find(mark) != std::string_view::npos; });
  };
  return uses(family.first_tensors) || uses(family.last_tensors) ||
         std::any_of(family.layer_tensors.begin(), family.layer_tensors.end(), uses);
}

const Family* find_gguf_family(std::string_view architecture, bool experts) {
  Sizes sizes;
  sizes.set(symbol::experts, experts ? 1 : 0);
  for (const Family* family : all) {
    if (family->gguf == architecture && holds(family->gguf_when, sizes)) return family;
  }
  return nullptr;
}

std::span<const NotConverted> not_converted() {
  static constexpr NotConverted rows[] = {
      {"bitnet",
       "its feed-forward layers square a ReLU, and llama.cpp's graph of that name computes SiLU: no GGUF file would "
       "give the model's logits"},
  };
  return rows;
}

}  // namespace modelutils::arch
