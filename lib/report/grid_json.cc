#include "report/grid_json.h"

#include <map>
#include <vector>

#include "report/layer_names.h"

namespace modelutils {

namespace {

using GridCells = std::map<std::size_t, std::string_view>;  // cell texts by role number

// A stack of layers. Each layer maps role numbers to cell texts.
struct GridStack {
  std::string_view prefix;
  std::vector<std::string_view> roles;  // in the order of their first tensors
  std::map<std::string_view, std::size_t> places;
  std::map<u32, GridCells> layers;
};

void write_grid_stack(json::Writer& json, const GridStack& stack) {
  const auto in_object = json.object();
  json.member("prefix", stack.prefix);
  json.values("roles", stack.roles);
  std::map<GridCells, std::size_t> kinds;
  std::vector<std::pair<const GridCells*, std::vector<u32>>> rows;
  for (const auto& [layer, cells] : stack.layers) {
    const auto [place, is_new] = kinds.try_emplace(cells, rows.size());
    if (is_new) rows.emplace_back(&cells, std::vector<u32>());
    rows[place->second].second.push_back(layer);
  }
  const auto in_rows = json.array("rows");
  for (const auto& [cells, layers] : rows) {
    const auto in_item = json.object();
    json.values("layers", layers);
    const auto in_cells = json.array("cells");
    for (const auto& [role, text] : *cells) {
      const auto in_array = json.array();
      json.number(u64{role});
      json.string(text);
    }
  }
}

}  // namespace

void write_grid_members(json::Writer& json, std::span<const GridTensor> tensors) {
  std::vector<GridStack> stacks;
  std::map<std::string_view, std::size_t> prefixes;
  std::vector<const GridTensor*> others;
  for (const GridTensor& tensor : tensors) {
    const std::optional<LayerName> name = parse_layer_name(tensor.name);
    if (!name) {
      others.push_back(&tensor);
      continue;
    }
    const auto [place, is_new] = prefixes.try_emplace(name->prefix, stacks.size());
    if (is_new) stacks.push_back({name->prefix, {}, {}, {}});
    GridStack& stack = stacks[place->second];
    const auto [role, is_new_role] = stack.places.try_emplace(name->role, stack.roles.size());
    if (is_new_role) stack.roles.push_back(name->role);
    stack.layers[name->layer].emplace(role->second, tensor.text);
  }
  {
    const auto in_stacks = json.array("stacks");
    for (const GridStack& stack : stacks) write_grid_stack(json, stack);
  }
  const auto in_others = json.array("others");
  for (const GridTensor* tensor : others) {
    const auto in_object = json.object();
    json.member("name", tensor->name);
    json.member("type", tensor->text);
  }
}

}  // namespace modelutils
