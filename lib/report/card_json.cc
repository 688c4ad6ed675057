#include "report/card_json.h"

#include "report/grid_json.h"

namespace modelutils {

namespace {

void card_number(json::Writer& json, std::string_view name, const std::optional<u64>& value) {
  json.key(name);
  value ? json.number(*value) : json.null();
}

void card_range(json::Writer& json, std::string_view name, const std::optional<Range>& range) {
  json.key(name);
  if (!range) return json.null();
  json.begin_array();
  json.number(range->low);
  json.number(range->high);
  json.end_array();
}

void write_card_facts(json::Writer& json, const ModelFacts& facts) {
  json.member("architecture", facts.architecture);
  json.member("name", facts.name);
  json.member("mix", facts.mix);
  json.member("tokenizer", facts.tokenizer);
  card_number(json, "layers", facts.layers);
  card_number(json, "context", facts.context);
  card_number(json, "embedding", facts.embedding);
  card_number(json, "vocabulary", facts.vocabulary);
  card_number(json, "experts", facts.experts);
  card_number(json, "experts_used", facts.experts_used);
  card_range(json, "heads", facts.heads);
  card_range(json, "heads_kv", facts.heads_kv);
  json.member("tensors", facts.tensors);
  card_number(json, "parameters", facts.parameters);
  card_number(json, "active_parameters", facts.active_parameters);
  card_number(json, "tensor_bytes", facts.tensor_bytes);
  json.key("bits_per_weight");
  facts.bits_per_weight ? json.number(*facts.bits_per_weight) : json.null();
  card_number(json, "file_size", facts.file_size);
  json.key("types");
  json.begin_array();
  for (const TypeTotal& total : facts.types) {
    json.begin_object();
    json.member("name", total.name);
    json.member("tensors", total.tensors);
    card_number(json, "bytes", total.bytes);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void write_card_json(json::Writer& json, const Card& card) {
  json.begin_object();
  json.member("schema", "card/1");
  json.member("path", card.path);
  json.member("format", card.format);
  json.member("kind", card.kind);
  write_card_facts(json, card.facts);
  write_grid_members(json, card.tensors);
  json.end_object();
}

}  // namespace modelutils
