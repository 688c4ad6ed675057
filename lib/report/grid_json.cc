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
  json.begin_object();
  json.member("prefix", stack.prefix);
  json.key("roles");
  json.begin_array();
  for (const std::string_view role : stack.roles) json.string(role);
  json.end_array();
  std::map<GridCells, std::size_t> kinds;
  std::vector<std::pair<const GridCells*, std::vector<u32>>> rows;
  for (const auto& [layer, cells] : stack.layers) {
    const auto [place, is_new] = kinds.try_emplace(cells, rows.size());
    if (is_new) rows.emplace_back(&cells, std::vector<u32>());
    rows[place->second].second.push_back(layer);
  }
  json.key("rows");
  json.begin_array();
  for (const auto& [cells, layers] : rows) {
    json.begin_object();
    json.key("layers");
    json.begin_array();
    for (const u32 layer : layers) json.number(layer);
    json.end_array();
    json.key("cells");
    json.begin_array();
    for (const auto& [role, text] : *cells) {
      json.begin_array();
      json.number(u64{role});
      json.string(text);
      json.end_array();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
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
  json.key("stacks");
  json.begin_array();
  for (const GridStack& stack : stacks) write_grid_stack(json, stack);
  json.end_array();
  json.key("others");
  json.begin_array();
  for (const GridTensor* tensor : others) {
    json.begin_object();
    json.member("name", tensor->name);
    json.member("type", tensor->text);
    json.end_object();
  }
  json.end_array();
}

}  // namespace modelutils
