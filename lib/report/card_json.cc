#include "report/card_json.h"

#include "report/grid_json.h"

namespace modelutils {

namespace {

void card_range(json::Writer& json, std::string_view name, const std::optional<Range>& range) {
  json.key(name);
  if (!range) return json.null();
  const auto in_array = json.array();
  json.number(range->low);
  json.number(range->high);
}

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
  json.member("tensors", facts.tensors);
  json.member_or_null("parameters", facts.parameters);
  json.member_or_null("active_parameters", facts.active_parameters);
  json.member_or_null("tensor_bytes", facts.tensor_bytes);
  json.member_or_null("bits_per_weight", facts.bits_per_weight);
  json.member_or_null("file_size", facts.file_size);
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

}  // namespace modelutils
