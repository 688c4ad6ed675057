#include "report/card_json.h"

#include <map>
#include <vector>

#include "report/layer_grid.h"
#include "report/listing_forms.h"

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

namespace {

void card_range(json::Writer& json, std::string_view name, const std::optional<Range>& range) {
  json.key(name);
  if (!range) return json.null();
  const auto in_array = json.array();
  json.number(range->low);
  json.number(range->high);
}

}  // namespace

void write_towers(json::Writer& json, std::span<const TowerFacts> towers) {
  if (towers.empty()) return;
  const auto in_towers = json.array("towers");
  for (const TowerFacts& tower : towers) {
    const auto in_object = json.object();
    json.member("encoder", tower.encoder);
    json.member("type", tower.type);
    json.member_or_null("image_size", tower.image_size);
    json.member_or_null("patch_size", tower.patch_size);
    card_range(json, "tokens", tower.tokens);
    json.values("mean", tower.mean);
    json.values("std", tower.deviation);
    card_range(json, "pixels", tower.pixels);
    card_range(json, "tiles", tower.tiles);
    json.member_or_null("mel_bins", tower.mel_bins);
    json.member_or_null("layers", tower.layers);
    json.member_or_null("width", tower.width);
    json.member("parts", tower.parts);
  }
}

void write_foreign_types(json::Writer& json, std::span<const ForeignTypeFacts> types) {
  if (types.empty()) return;
  const auto in_types = json.array("foreign_types");
  for (const ForeignTypeFacts& type : types) {
    const auto in_object = json.object();
    json.member("id", type.id);
    json.member("text", type.text);
    json.member("bits_per_weight", type.bits_per_weight);
    {
      const auto in_forks = json.array("forks");
      for (const ForeignTypeFacts::InFork& fork : type.forks) {
        const auto in_fork = json.object();
        json.member("name", fork.name);
        json.member("program", fork.program);
        json.member("repository", fork.repository);
      }
    }
    json.member("advice", type.advice);
  }
}

void write_image_member(json::Writer& json, const ModelFacts& facts) {
  if (!facts.image) return;
  const ImageFacts& image = *facts.image;
  const auto in_image = json.object("image");
  json.member("architecture", image.architecture);
  json.member("title", image.title);
  json.values("variants", image.variants);
  {
    const auto in_blocks = json.object("blocks");
    for (const ImageStack& stack : image.stacks) json.member(stack.name, stack.blocks);
  }
  json.member_or_null("width", image.width);
  json.member_or_null("inputs", image.inputs);
  json.member_or_null("text_width", image.text_width);
  {
    const auto in_roles = json.object("roles");
    for (const ImageRole& role : image.roles) {
      const auto in_role = json.object(role.name);
      for (const RoleType& type : role.types) {
        const auto in_type = json.object(type.type);
        json.member("tensors", type.tensors);
        json.member("bytes", type.bytes);
      }
    }
  }
  json.member("text_encoders", image.text_encoders);
  json.member("vae", image.vae);
  const auto in_parts = json.array("other_parts");
  for (const ImageRest& part : image.rest) {
    const auto in_part = json.object();
    json.member("prefix", part.part);
    json.member("tensors", part.tensors);
  }
}

namespace {

void write_card_facts(json::Writer& json, const ModelFacts& facts) {
  json.member("architecture", facts.architecture);
  json.member("name", facts.name);
  json.member("mix", facts.mix);
  json.member("tokenizer", facts.tokenizer);
  json.member_or_null("layers", facts.layers);
  json.member_or_null("context", facts.context);
  json.member_or_null("embedding", facts.embedding);
  json.member_or_null("vocabulary", facts.vocabulary);
  json.member_or_null("experts", facts.experts);
  json.member_or_null("experts_used", facts.experts_used);
  card_range(json, "heads", facts.heads);
  card_range(json, "heads_kv", facts.heads_kv);
  if (facts.pooling) json.member("pooling", *facts.pooling);
  if (facts.sees_whole_text) json.member("sees_whole_text", true);
  if (facts.output_width) json.member("output_width", *facts.output_width);
  if (!facts.labels.empty()) json.values("labels", facts.labels);
  json.member("tensors", facts.tensors);
  json.member_or_null("parameters", facts.parameters);
  json.member_or_null("active_parameters", facts.active_parameters);
  json.member_or_null("tensor_bytes", facts.tensor_bytes);
  json.member_or_null("bits_per_weight", facts.bits_per_weight);
  json.member_or_null("file_size", facts.file_size);
  write_image_member(json, facts);
  {
    const auto in_stop = json.array("stop");
    for (const NamedToken& token : facts.stops) {
      const auto in_object = json.object();
      json.member("id", token.id);
      json.member("text", token.text);
    }
  }
  write_towers(json, facts.towers);
  write_foreign_types(json, facts.foreign_types);
  const auto in_types = json.array("types");
  for (const TypeTotal& total : facts.types) {
    const auto in_object = json.object();
    json.member("name", total.name);
    json.member("tensors", total.tensors);
    json.member_or_null("bytes", total.bytes);
  }
}

}  // namespace

void write_card_json(json::Writer& json, const Card& card) {
  const auto in_object = json.object();
  json.member("schema", "card/1");
  json.member("path", card.path);
  json.member("format", card.format);
  json.member("kind", card.kind);
  write_card_facts(json, card.facts);
  write_grid_members(json, card.tensors);
}

Status write_listing_card(TextOutput& out, const Listing& listing, const ListingOptions&) {
  const bool is_gguf = listing.format == Listing::Format::gguf;
  const bool is_mlx = listing.kind.starts_with("MLX");
  const std::vector<GridTensor> tensors = grid_tensors(listing);
  json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  write_card_json(json, {listing.path,
                         is_gguf  ? "gguf"
                         : is_mlx ? "mlx"
                                  : "safetensors",
                         listing.facts, listing.kind, tensors});
  json.end_line();
  json.flush();
  return {};
}

}  // namespace modelutils
