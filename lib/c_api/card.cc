// What a model is, and its network as a grid, as JSON ("card/1", docs/json.md).
#include <algorithm>
#include <map>

#include "c_api/handle.h"
#include "json/writer.h"
#include "listing/gguf_listing.h"
#include "listing/safetensors_listing.h"
#include "report/layer_names.h"

using namespace modelutils;
using namespace modelutils::c_api;

namespace {

void optional_member(json::Writer& json, std::string_view name, const std::optional<u64>& value) {
  json.key(name);
  value ? json.number(*value) : json.null();
}

void range_member(json::Writer& json, std::string_view name, const std::optional<Range>& range) {
  json.key(name);
  if (!range) return json.null();
  json.begin_array();
  json.number(range->low);
  json.number(range->high);
  json.end_array();
}

void write_card_facts(json::Writer& json, const Listing& listing) {
  const ModelFacts& facts = listing.facts;
  json.member("kind", listing.kind);
  json.member("architecture", facts.architecture);
  json.member("name", facts.name);
  json.member("mix", facts.mix);
  json.member("tokenizer", facts.tokenizer);
  optional_member(json, "layers", facts.layers);
  optional_member(json, "context", facts.context);
  optional_member(json, "embedding", facts.embedding);
  optional_member(json, "vocabulary", facts.vocabulary);
  optional_member(json, "experts", facts.experts);
  optional_member(json, "experts_used", facts.experts_used);
  range_member(json, "heads", facts.heads);
  range_member(json, "heads_kv", facts.heads_kv);
  json.member("tensors", facts.tensors);
  optional_member(json, "parameters", facts.parameters);
  optional_member(json, "active_parameters", facts.active_parameters);
  optional_member(json, "tensor_bytes", facts.tensor_bytes);
  json.key("bits_per_weight");
  facts.bits_per_weight ? json.number(*facts.bits_per_weight) : json.null();
  optional_member(json, "file_size", facts.file_size);
  json.key("types");
  json.begin_array();
  for (const TypeTotal& total : facts.types) {
    json.begin_object();
    json.member("name", total.name);
    json.member("tensors", total.tensors);
    optional_member(json, "bytes", total.bytes);
    json.end_object();
  }
  json.end_array();
}

// A stack of layers: for each layer its tensors, as places of their roles and types.
struct CardStack {
  std::string_view prefix;
  std::vector<std::string_view> roles;  // in the order of their first tensor
  std::map<std::string_view, std::size_t> places;
  std::map<u32, std::map<std::size_t, std::string>> layers;
};

// Layers that look alike share a row; a cell is the type, or null where the layer has no such tensor. Linear in the
// tensors: rows list only the cells that they have.
void write_card_stack(json::Writer& json, const CardStack& stack) {
  json.begin_object();
  json.member("prefix", stack.prefix);
  json.key("roles");
  json.begin_array();
  for (const std::string_view role : stack.roles) json.string(role);
  json.end_array();
  std::map<std::map<std::size_t, std::string>, std::size_t> kinds;
  std::vector<std::pair<const std::map<std::size_t, std::string>*, std::vector<u32>>> rows;
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
    for (const auto& [role, type] : *cells) {
      json.begin_array();
      json.number(u64{role});
      json.string(type);
      json.end_array();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_card_grid(json::Writer& json, std::span<const ViewTensor> tensors) {
  std::vector<CardStack> stacks;
  std::map<std::string_view, std::size_t> prefixes;
  std::vector<const ViewTensor*> others;
  for (const ViewTensor& tensor : tensors) {
    if (tensor.is_part) continue;
    const std::optional<LayerName> name = parse_layer_name(tensor.name);
    if (!name) {
      others.push_back(&tensor);
      continue;
    }
    const auto [place, is_new] = prefixes.try_emplace(name->prefix, stacks.size());
    if (is_new) stacks.push_back({name->prefix, {}, {}, {}});
    CardStack& stack = stacks[place->second];
    const auto [role, is_new_role] = stack.places.try_emplace(name->role, stack.roles.size());
    if (is_new_role) stack.roles.push_back(name->role);
    stack.layers[name->layer].emplace(role->second, type_text(tensor));
  }
  json.key("stacks");
  json.begin_array();
  for (const CardStack& stack : stacks) write_card_stack(json, stack);
  json.end_array();
  json.key("others");
  json.begin_array();
  for (const ViewTensor* tensor : others) {
    json.begin_object();
    json.member("name", tensor->name);
    json.member("type", type_text(*tensor));
    json.end_object();
  }
  json.end_array();
}

}  // namespace

mu_status mu_card(const mu_model* model, mu_text** json) {
  return guarded([&]() -> Status {
    if (json == nullptr) return null_argument("json");
    *json = nullptr;
    if (model == nullptr) return null_argument("model");
    const ModelView& view = model->view;
    const std::unique_ptr<ListingSource> source =
        view.gguf() != nullptr ? gguf_listing(*view.gguf(), view.path()) : safetensors_listing(*view.safetensors());
    const Listing listing = source->list({});
    json::Writer writer;
    writer.begin_object();
    writer.member("schema", "card/1");
    writer.member("path", view.path());
    writer.member("format", view.format());
    write_card_facts(writer, listing);
    write_card_grid(writer, view.tensors());
    writer.end_object();
    *json = std::make_unique<mu_text>(mu_text{writer.text()}).release();
    return {};
  });
}
