#include "to_directory/quantization.h"

#include <algorithm>
#include <map>
#include <utility>

namespace modelutils::to_directory {

namespace {

hf::ConfigMembers params_members(const mlx::Params& params) {
  return {{"group_size", params.group_size}, {"bits", params.bits}, {"mode", mlx::mode_name(params.mode)}};
}

// Returns the type of most plain values, or of most scales if all tensors are packed.
TensorType usual_type(const DirectoryMap& map, const std::vector<DirectoryForm>& forms) {
  std::map<TensorType, u64> plain;
  std::map<TensorType, u64> scales;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const DirectoryForm& form = forms[i];
    (form.is_packed() ? scales : plain)[form.type] += map.tensors[i].elements();
  }
  plain.erase(TensorType::U8);
  scales.erase(TensorType::U8);
  const auto& counts = plain.empty() ? scales : plain;
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? TensorType::BF16 : most->first;
}

}  // namespace

std::optional<hf::ConfigMembers> quantization_members(const DirectoryMap& map,
                                                      const std::vector<DirectoryForm>& forms) {
  std::vector<std::pair<mlx::Params, u64>> uses;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (!forms[i].is_packed()) continue;
    const auto known =
        std::find_if(uses.begin(), uses.end(), [&](const auto& use) { return use.first == forms[i].params; });
    const u64 elements = map.tensors[i].elements();
    if (known == uses.end()) {
      uses.emplace_back(forms[i].params, elements);
    } else {
      known->second += elements;
    }
  }
  if (uses.empty()) return std::nullopt;
  const mlx::Params usual = std::max_element(uses.begin(), uses.end(), [](const auto& a, const auto& b) {
                              return a.second < b.second;
                            })->first;
  hf::ConfigMembers members = params_members(usual);
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const mlx::Params& params = forms[i].params;
    if (!forms[i].is_packed() || params == usual) continue;
    members.push_back({map.tensors[i].module(), params_members(params)});
  }
  return members;
}

std::string_view torch_dtype(const DirectoryMap& map, const std::vector<DirectoryForm>& forms) {
  const TensorType type = usual_type(map, forms);
  return type == TensorType::BF16 ? "bfloat16" : type == TensorType::F16 ? "float16" : "float32";
}

}  // namespace modelutils::to_directory
