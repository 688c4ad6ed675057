#include <charconv>

#include "formats/gguf/parse.h"
#include "report/card_json.h"
#include "report/importance_table.h"
#include "report/key_text.h"
#include "report/listing_forms.h"

namespace modelutils {

namespace {

// Writes the type's name, or the number of an unknown GGUF type.
void write_type(json::Writer& json, const Listing& listing, const ListedTensor& tensor) {
  json.key("type");
  u64 number = 0;
  const std::string_view name = tensor.type_name;
  if (listing.format == Listing::Format::gguf && !tensor.type() &&
      std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc{}) {
    json.number(number);
  } else {
    json.string(name);
  }
}

// Writes the targets of a LoRA adapter.
void write_adapter(json::Writer& json, const Listing& listing) {
  const std::optional<AdapterFacts>& adapter = listing.facts.adapter;
  if (!adapter) return;
  const auto in_adapter = json.object("adapter");
  json.member("form", adapter->form);
  json.member_or_null("alpha", adapter->alpha);
  json.member("others", adapter->others);
  MemberNames names;
  bool altered = false;
  const auto in_targets = json.object("targets");
  for (const AdapterTarget& target : adapter->targets) {
    const auto in_object = json.object(names.claim(target.name, altered));
    if (altered) json.member("name", target.name);
    json.member("rank", target.rank);
    json.member("scale", target.scale);
    json.member("in", target.columns);
    json.member("out", target.rows);
    json.member("stack", target.slices);
  }
}

void write_facts(json::Writer& json, const Listing& listing) {
  const ListedFile& first = listing.files.front();
  json.member("schema", "gguf-dump/1");
  json.member_or_null("file_size", listing.facts.file_size);
  json.member("alignment", first.alignment);
  json.member_or_null("data_offset", first.data_offset);
  json.member_or_null("parameters", listing.facts.parameters);
  json.member_or_null("bits_per_weight", listing.facts.bits_per_weight);
  if (const auto& can = listing.facts.chat_template) {
    const auto in_chat_template = json.object("chat_template");
    json.member("system", can->system);
    json.member("tools", can->tools);
    json.member("thinking", can->thinking);
    json.member("multimodal", can->multimodal);
  }
  write_adapter(json, listing);
  write_towers(json, listing.facts.towers);
  write_foreign_types(json, listing.facts.foreign_types);
  write_image_member(json, listing.facts);
  const auto in_types = json.object("types");
  for (const TypeTotal& total : listing.facts.types) {
    const auto in_object = json.object(total.name);
    json.member("tensors", total.tensors);
    json.member_or_null("bytes", total.bytes);
  }
}

void write_gguf_files(json::Writer& json, const Listing& listing) {
  const auto in_files = json.array("files");
  for (const ListedFile& file : listing.files) {
    const auto in_object = json.object();
    json.member("name", file.name);
    json.member_or_null("file_size", file.size);
    json.member("alignment", file.alignment);
    json.member_or_null("data_offset", file.data_offset);
    json.member("tensors", file.tensors);
  }
}

Status write_excerpt(json::Writer& json, const ListedArray& listed) {
  constexpr u64 most_elements = 16;
  json.member("count", listed.array.count);
  if (listed.array.element_type == gguf::ValueType::array) return {};
  MU_ASSIGN(const auto first,
            gguf::read_values(*listed.file->source, listed.file->document, listed.array, most_elements));
  json.key("value");
  ArrayToJson elements(json);
  elements.begin();
  for (const gguf::Value& value : first) {
    const auto* text = std::get_if<std::string>(&value);
    text != nullptr ? elements.text(*text) : elements.scalar(value);
  }
  elements.end();
  return {};
}

Status write_key(json::Writer& json, const ListedKey& key, const ListingOptions& options) {
  json.member("index", key.index);
  json.member("type", gguf::value_type_name(key.type));
  json.member("offset", key.offset);
  const auto* array = std::get_if<ListedArray>(&key.value);
  if (array != nullptr) MU_TRY(write_array_types(json, *array));
  if (array != nullptr && options.excerpts) return write_excerpt(json, *array);
  if (array != nullptr && !options.arrays) return {};
  json.key("value");
  return write_json_value(json, key.value);
}

Status write_gguf_keys(json::Writer& json, const Listing& listing, const ListingOptions& options) {
  MemberNames names;
  bool altered = false;
  const auto in_metadata = json.object("metadata");
  for (const ListedKey& field : listing.header_fields) {
    names.claim(field.name, altered);
    if (field.is_hidden) continue;
    const auto in_object = json.object(field.name);
    MU_TRY(write_key(json, field, options));
  }
  for (const ListedKey& key : listing.keys) {
    const auto in_object = json.object(names.claim(key.name, altered));
    if (altered) json.member("name", key.name);
    MU_TRY(write_key(json, key, options));
  }
  return {};
}

void write_gguf_tensor(json::Writer& json, const Listing& listing, const ListedTensor& tensor) {
  json.member("index", tensor.index);
  json.values("shape", tensor.shape());
  write_type(json, listing, tensor);
  json.member("offset", tensor.offset());
  json.member_or_null("data_offset", tensor.data_offset());
  json.member_or_null("bytes", tensor.bytes());
  if (listing.is_split()) json.member("file", listing.files[tensor.stored->file].name);
}

void write_safetensors_tensor(json::Writer& json, const Listing& listing, const ListedTensor& tensor) {
  json.member("dtype", tensor.type_name);
  json.values("shape", tensor.shape());
  {
    const auto in_data_offsets = json.array("data_offsets");
    json.number(tensor.entry->begin);
    json.number(tensor.entry->end);
  }
  json.member("file", listing.files[tensor.stored->file].name);
  json.member_or_null("bytes", tensor.bytes());
}

template <typename WriteMembers>
void write_tensors(json::Writer& json, const Listing& listing, WriteMembers&& write_members) {
  MemberNames names;
  bool altered = false;
  json.key("tensors");  // empty with --no-tensors, as in gguf-py
  const auto in_object = json.object();
  for (const ListedTensor& tensor : listing.tensors) {
    const auto in_item = json.object(listing.names_differ ? tensor.name() : names.claim(tensor.name(), altered));
    if (altered) json.member("name", tensor.name());
    write_members(json, listing, tensor);
  }
}

void write_modules(json::Writer& json, const Listing& listing) {
  const auto in_modules = json.object("modules");
  for (const ListedModule& module : listing.modules) {
    const auto in_object = json.object(module.path);
    json.member("quantized", module.quantized);
    json.text_or_null("mode", module.mode);
    json.key("bits");
    module.mode.empty() ? json.null() : json.number(module.bits);
    json.key("group_size");
    module.group_size == 0 ? json.null() : json.number(module.group_size);
    json.member_or_null("symmetric", module.symmetric);
    json.values("shape", module.shape);
  }
}

Status write_gguf(json::Writer& json, const Listing& listing, const ListingOptions& options) {
  json.member("filename", listing.path);
  json.member("endian", listing.big_endian ? "BIG" : "LITTLE");
  write_facts(json, listing);
  if (listing.is_split()) write_gguf_files(json, listing);
  if (listing.importance) write_importance_json(json, *listing.importance);
  MU_TRY(write_gguf_keys(json, listing, options));
  write_tensors(json, listing, write_gguf_tensor);
  return {};
}

void write_safetensors(json::Writer& json, const Listing& listing, const ListingOptions& options) {
  json.member("schema", "st-dump/1");
  json.member("path", listing.path);
  if (listing.facts.image) json.member("architecture", listing.facts.architecture);
  {
    const auto in_metadata = json.object("metadata");
    for (const ListedKey& key : listing.keys) json.member(key.name, std::get<std::string_view>(key.value));
  }
  {
    const auto in_files = json.array("files");
    for (const ListedFile& file : listing.files) {
      const auto in_object = json.object();
      json.member("name", file.name);
      json.member("header_bytes", file.header_bytes);
      json.member_or_null("file_size", file.size);
    }
  }
  write_tensors(json, listing, write_safetensors_tensor);
  json.member_or_null("parameters", listing.facts.parameters);
  write_adapter(json, listing);
  write_towers(json, listing.facts.towers);
  write_image_member(json, listing.facts);
  if (options.modules) write_modules(json, listing);
}

}  // namespace

Status write_listing_json(TextOutput& out, const Listing& listing, const ListingOptions& options) {
  json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  {
    const auto in_object = json.object();
    if (listing.format == Listing::Format::gguf) {
      MU_TRY(write_gguf(json, listing, options));
    } else {
      write_safetensors(json, listing, options);
    }
  }
  json.end_line();
  json.flush();
  return {};
}

Status write_listing_jsonl(TextOutput& out, const Listing& listing, const ListingOptions& options) {
  const bool with_file = shows_files(listing, options) || listing.format == Listing::Format::safetensors;
  json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  for (const ListedTensor& tensor : listing.tensors) {
    {
      const auto in_object = json.object();
      json.member("index", tensor.index);
      json.member("name", tensor.name());
      write_type(json, listing, tensor);
      json.values("shape", tensor.shape());
      json.member_or_null("parameters", tensor.parameters);
      json.member_or_null("bytes", tensor.bytes());
      json.member("offset", tensor.offset());
      json.member_or_null("data_offset", tensor.data_offset());
      if (with_file) json.member("file", shown_file(listing, tensor, options));
    }
    json.end_line();
  }
  json.flush();
  return {};
}

}  // namespace modelutils
