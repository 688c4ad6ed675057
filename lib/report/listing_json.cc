#include <charconv>

#include "gguf/parse.h"
#include "report/importance_table.h"
#include "report/json_value.h"
#include "report/listing_forms.h"
#include "report/member_names.h"

namespace modelutils {

namespace {

void number_or_null(json::Writer& json, std::string_view name, std::optional<u64> value) {
  json.key(name);
  value ? json.number(*value) : json.null();
}

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
  json.key("adapter");
  json.begin_object();
  json.member("form", adapter->form);
  json.key("alpha");
  adapter->alpha ? json.number(*adapter->alpha) : json.null();
  json.member("others", adapter->others);
  MemberNames names;
  bool altered = false;
  json.key("targets");
  json.begin_object();
  for (const AdapterTarget& target : adapter->targets) {
    json.key(names.claim(target.name, altered));
    json.begin_object();
    if (altered) json.member("name", target.name);
    json.member("rank", target.rank);
    json.member("scale", target.scale);
    json.member("in", target.columns);
    json.member("out", target.rows);
    json.member("stack", target.slices);
    json.end_object();
  }
  json.end_object();
  json.end_object();
}

void write_facts(json::Writer& json, const Listing& listing) {
  const ListedFile& first = listing.files.front();
  json.member("schema", "gguf-dump/1");
  number_or_null(json, "file_size", listing.facts.file_size);
  json.member("alignment", first.alignment);
  number_or_null(json, "data_offset", first.data_offset);
  number_or_null(json, "parameters", listing.facts.parameters);
  json.key("bits_per_weight");
  listing.facts.bits_per_weight ? json.number(*listing.facts.bits_per_weight) : json.null();
  if (const auto& can = listing.facts.chat_template) {
    json.key("chat_template");
    json.begin_object();
    json.member("system", can->system);
    json.member("tools", can->tools);
    json.member("thinking", can->thinking);
    json.member("multimodal", can->multimodal);
    json.end_object();
  }
  write_adapter(json, listing);
  json.key("types");
  json.begin_object();
  for (const TypeTotal& total : listing.facts.types) {
    json.key(total.name);
    json.begin_object();
    json.member("tensors", total.tensors);
    number_or_null(json, "bytes", total.bytes);
    json.end_object();
  }
  json.end_object();
}

void write_gguf_files(json::Writer& json, const Listing& listing) {
  json.key("files");
  json.begin_array();
  for (const ListedFile& file : listing.files) {
    json.begin_object();
    json.member("name", file.name);
    number_or_null(json, "file_size", file.size);
    json.member("alignment", file.alignment);
    number_or_null(json, "data_offset", file.data_offset);
    json.member("tensors", file.tensors);
    json.end_object();
  }
  json.end_array();
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
  json.key("metadata");
  json.begin_object();
  for (const ListedKey& field : listing.header_fields) {
    names.claim(field.name, altered);
    if (field.is_hidden) continue;
    json.key(field.name);
    json.begin_object();
    MU_TRY(write_key(json, field, options));
    json.end_object();
  }
  for (const ListedKey& key : listing.keys) {
    json.key(names.claim(key.name, altered));
    json.begin_object();
    if (altered) json.member("name", key.name);
    MU_TRY(write_key(json, key, options));
    json.end_object();
  }
  json.end_object();
  return {};
}

void write_gguf_tensor(json::Writer& json, const Listing& listing, const ListedTensor& tensor) {
  json.member("index", tensor.index);
  write_shape(json, tensor.shape());
  write_type(json, listing, tensor);
  json.member("offset", tensor.offset());
  number_or_null(json, "data_offset", tensor.data_offset());
  number_or_null(json, "bytes", tensor.bytes());
  if (listing.is_split()) json.member("file", listing.files[tensor.stored->file].name);
}

void write_safetensors_tensor(json::Writer& json, const Listing& listing, const ListedTensor& tensor) {
  json.member("dtype", tensor.type_name);
  write_shape(json, tensor.shape());
  json.key("data_offsets");
  json.begin_array();
  json.number(tensor.entry->begin);
  json.number(tensor.entry->end);
  json.end_array();
  json.member("file", listing.files[tensor.stored->file].name);
  number_or_null(json, "bytes", tensor.bytes());
}

template <typename WriteMembers>
void write_tensors(json::Writer& json, const Listing& listing, WriteMembers&& write_members) {
  MemberNames names;
  bool altered = false;
  json.key("tensors");  // empty with --no-tensors, as gguf-py has it
  json.begin_object();
  for (const ListedTensor& tensor : listing.tensors) {
    json.key(listing.names_differ ? tensor.name() : names.claim(tensor.name(), altered));
    json.begin_object();
    if (altered) json.member("name", tensor.name());
    write_members(json, listing, tensor);
    json.end_object();
  }
  json.end_object();
}

void write_modules(json::Writer& json, const Listing& listing) {
  json.key("modules");
  json.begin_object();
  for (const ListedModule& module : listing.modules) {
    json.key(module.path);
    json.begin_object();
    json.member("quantized", module.quantized);
    json.key("mode");
    module.mode.empty() ? json.null() : json.string(module.mode);
    json.key("bits");
    module.mode.empty() ? json.null() : json.number(module.bits);
    json.key("group_size");
    module.group_size == 0 ? json.null() : json.number(module.group_size);
    json.key("symmetric");
    module.symmetric ? json.boolean(*module.symmetric) : json.null();
    write_shape(json, module.shape);
    json.end_object();
  }
  json.end_object();
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
  json.key("metadata");
  json.begin_object();
  for (const ListedKey& key : listing.keys) json.member(key.name, std::get<std::string_view>(key.value));
  json.end_object();
  json.key("files");
  json.begin_array();
  for (const ListedFile& file : listing.files) {
    json.begin_object();
    json.member("name", file.name);
    json.member("header_bytes", file.header_bytes);
    number_or_null(json, "file_size", file.size);
    json.end_object();
  }
  json.end_array();
  write_tensors(json, listing, write_safetensors_tensor);
  number_or_null(json, "parameters", listing.facts.parameters);
  write_adapter(json, listing);
  if (options.modules) write_modules(json, listing);
}

}  // namespace

Status write_listing_json(TextOutput& out, const Listing& listing, const ListingOptions& options) {
  json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  json.begin_object();
  if (listing.format == Listing::Format::gguf) {
    MU_TRY(write_gguf(json, listing, options));
  } else {
    write_safetensors(json, listing, options);
  }
  json.end_object();
  json.end_line();
  json.flush();
  return {};
}

Status write_listing_jsonl(TextOutput& out, const Listing& listing, const ListingOptions& options) {
  const bool with_file = shows_files(listing, options) || listing.format == Listing::Format::safetensors;
  json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  for (const ListedTensor& tensor : listing.tensors) {
    json.begin_object();
    json.member("index", tensor.index);
    json.member("name", tensor.name());
    write_type(json, listing, tensor);
    write_shape(json, tensor.shape());
    number_or_null(json, "parameters", tensor.parameters);
    number_or_null(json, "bytes", tensor.bytes());
    json.member("offset", tensor.offset());
    number_or_null(json, "data_offset", tensor.data_offset());
    if (with_file) json.member("file", shown_file(listing, tensor, options));
    json.end_object();
    json.end_line();
  }
  json.flush();
  return {};
}

}  // namespace modelutils
