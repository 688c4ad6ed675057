#include "arch/projector_tensors.h"

#include "arch/names.h"
#include "base/text.h"

namespace modelutils::arch {

std::string numbered(std::string_view text, u64 number) {
  std::string out(text);
  if (const std::size_t at = out.find('#'); at != std::string::npos) out.replace(at, 1, std::to_string(number));
  return out;
}

std::vector<TowerTensor> tower_tensors(const ProjectorGroup& group, std::size_t number_of_group,
                                       const std::vector<u64>& numbers, const Sizes& sizes) {
  std::vector<TowerTensor> tensors;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string gguf = numbered(group.gguf, numbers[i]);
    for (const Tensor& row : group.rows) {
      if (!holds(row.when, sizes, i)) continue;
      const bool is_complete = row.name.starts_with('@');
      for (const Side side : {Side::weight, Side::bias}) {
        const Need need = side == Side::weight ? row.need : row.bias;
        if (need == Need::absent || (is_complete && side == Side::bias)) continue;
        TowerTensor tensor;
        tensor.name = gguf + std::string(is_complete ? row.name.substr(1) : row.name);
        if (!is_complete) tensor.name += side == Side::weight ? ".weight" : ".bias";
        tensor.ne = evaluate_shape(row.ne, sizes, i).value_or(std::vector<u64>{});
        if (side == Side::bias && tensor.ne.size() > 1) tensor.ne.erase(tensor.ne.begin(), tensor.ne.end() - 1);
        tensor.need = side == Side::bias && row.need == Need::optional ? Need::optional : need;
        tensor.is_kernel = row.plain == plain_kernel;
        const bool is_matrix = tensor.ne.size() > 1 && (tensor.name.ends_with(".weight") || tensor.is_kernel);
        tensor.must_be_f32 = row.f32 || !is_matrix;
        tensor.row = &row;
        tensor.side = side;
        tensor.in_layer = !group.gguf.empty();
        tensor.layer = i;
        tensor.group = number_of_group;
        tensors.push_back(std::move(tensor));
      }
    }
  }
  return tensors;
}

std::vector<TowerPrefix> tower_prefixes(std::string_view text) {
  std::vector<TowerPrefix> prefixes;
  if (text.starts_with('?') || text.starts_with('~')) text.remove_prefix(1);
  for_each_name(text, [&](std::string_view one) {
    const std::string_view condition = take_condition(one);
    prefixes.push_back({condition, trimmed(one)});
  });
  return prefixes;
}

std::string_view written_prefix(std::string_view text, bool is_mlx) {
  const std::vector<TowerPrefix> prefixes = tower_prefixes(text);
  for (const std::string_view wanted : {std::string_view(is_mlx ? "mlx" : "hf"), std::string_view()}) {
    for (const TowerPrefix& prefix : prefixes) {
      if (prefix.condition == wanted) return prefix.text;
    }
  }
  return {};
}

}  // namespace modelutils::arch
