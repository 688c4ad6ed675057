#include "arch/families.h"

#include <algorithm>
#include <array>
#include <string>

#include "arch/facts.h"
#include "arch/families/list.h"
#include "formats/hf/config.h"

namespace modelutils::arch {

namespace {

#define MU_FAMILY_ADDRESS(file, family) &families::file::packed_##family,
constexpr std::array packed = {MU_ARCH_FAMILIES(MU_FAMILY_ADDRESS)};
#undef MU_FAMILY_ADDRESS

// Returns the first family whose names fulfil the condition and which fulfils `fits`, or nullptr. Only families with
// such names are unpacked.
template <typename Condition, typename Fits>
const Family* first_family(Condition condition, Fits fits) {
  for (const PackedFamily* each : packed) {
    if (!condition(each->names())) continue;
    if (const Family& family = each->unpacked(); fits(family)) return &family;
  }
  return nullptr;
}
template <typename Condition>
const Family* first_family(Condition condition) {
  return first_family(condition, [](const Family&) { return true; });
}

}  // namespace

std::span<const Family* const> all_families() {
  static const auto all = [] {
    std::array<const Family*, packed.size()> families = {};
    std::ranges::transform(packed, families.begin(), [](const PackedFamily* each) { return &each->unpacked(); });
    return families;
  }();
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
  const Family* found =
      first_family([&](const PackedFamily::Names& names) { return has_name(names.classes, hf_class); });
  if (found != nullptr) return found;
  return first_family([&](const PackedFamily::Names& names) { return has_name(names.model_types, model_type); });
}

const Family* find_family(const hf::Config& config) {
  const Family* found = find_family(config.architecture, config.model_type);
  if (found != nullptr && found->fits != nullptr && !found->fits(config)) {
    const bool by_class = has_name(found->classes, config.architecture);
    const auto is_relative = [&](const PackedFamily::Names& names) {
      return by_class ? has_name(names.classes, config.architecture) : has_name(names.model_types, config.model_type);
    };
    found =
        first_family(is_relative, [&](const Family& family) { return family.fits == nullptr || family.fits(config); });
  }
  if (found == nullptr || has_name(found->classes, config.architecture)) return found;
  return config.architecture.empty() || config.has_text_config ? found : nullptr;
}

const Family* find_family(const gguf::Index& index) {
  const std::string_view pre = index.string_value("tokenizer.ggml.pre").value_or("");
  const auto is_of_architecture = [&](const PackedFamily::Names& names) { return names.gguf == index.architecture(); };
  const auto fits = [&](const Family& family) {
    if (!family.gguf_lacks.empty() && index.tensor(family.gguf_lacks) != nullptr) return false;
    const bool has_pre = !pre.empty() && family.gguf_pre == pre;
    return has_pre || holds(family.gguf_when, stated_gguf_sizes(family, index));
  };
  const auto has_own_key = [&](const Family& family) {
    if (family.gguf_key.starts_with('@')) return index.tensor(family.gguf_key.substr(1)) != nullptr;
    return !family.gguf_key.empty() && index.key(index.arch_key(family.gguf_key)) != nullptr;
  };
  const Family* by_key =
      first_family(is_of_architecture, [&](const Family& family) { return has_own_key(family) && fits(family); });
  if (by_key != nullptr) return by_key;
  return first_family(is_of_architecture,
                      [&](const Family& family) { return family.gguf_key.empty() && fits(family); });
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

const Family* find_gguf_family(std::string_view architecture) {
  return first_family([&](const PackedFamily::Names& names) { return names.gguf == architecture; });
}

const Family* find_gguf_family(std::string_view architecture, bool experts) {
  Sizes sizes;
  sizes.set(symbol::experts, experts ? 1 : 0);
  return first_family([&](const PackedFamily::Names& names) { return names.gguf == architecture; },
                      [&](const Family& family) { return holds(family.gguf_when, sizes); });
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
