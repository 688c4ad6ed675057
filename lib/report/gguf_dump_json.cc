#include <fmt/format.h>

#include "base/path.h"
#include "gguf/parse.h"
#include "json/writer.h"
#include "model/gguf_summary.h"
#include "report/gguf_selection.h"
#include "report/member_names.h"

namespace modelutils {

namespace {

void number_or_null(json::Writer& json, std::string_view name, std::optional<u64> value) {
  json.key(name);
  if (value) {
    json.number(*value);
  } else {
    json.null();
  }
}

void write_scalar(json::Writer& json, const gguf::Value& value) {
  std::visit(
      [&](const auto& scalar) {
        using T = std::decay_t<decltype(scalar)>;
        if constexpr (std::is_same_v<T, std::string>) {
          json.string(scalar);
        } else if constexpr (std::is_same_v<T, gguf::Bool>) {
          json.boolean(scalar.byte != 0);
        } else if constexpr (std::is_same_v<T, gguf::ArrayRef>) {
          json.null();
        } else if constexpr (std::is_floating_point_v<T>) {
          json.number(static_cast<double>(scalar));  // a float32 is written as the double it is
        } else if constexpr (std::is_signed_v<T>) {
          json.number(static_cast<i64>(scalar));
        } else {
          json.number(static_cast<u64>(scalar));
        }
      },
      value);
}

// Element types from the outside in, as gguf-py's field.types.
Status write_array_types(json::Writer& json, const gguf::SetFile& file, gguf::ArrayRef array) {
  json.key("array_types");
  json.begin_array();
  while (true) {
    json.string(gguf::value_type_name(array.element_type));
    if (array.element_type != gguf::ValueType::array || array.count == 0) break;
    MU_ASSIGN(const auto first, gguf::read_values(*file.source, file.document, array, 1));
    if (first.empty() || !std::holds_alternative<gguf::ArrayRef>(first[0])) break;
    array = std::get<gguf::ArrayRef>(first[0]);
  }
  json.end_array();
  return {};
}

Status write_keys(json::Writer& json, const gguf::SplitSet& set, const GgufDumpOptions& options) {
  const gguf::SetFile& file = set.files.front();
  MemberNames names;
  bool altered = false;
  json.key("metadata");
  json.begin_object();
  u64 index = 0;
  for (const PseudoKey& pseudo : pseudo_keys(file.document)) {
    names.claim(pseudo.name, altered);
    if (selects(options.key_globs, pseudo.name)) {
      json.key(pseudo.name);
      json.begin_object();
      json.member("index", index);
      json.member("type", gguf::value_type_name(pseudo.type));
      json.member("offset", pseudo.offset);
      json.member("value", pseudo.value);
      json.end_object();
    }
    ++index;
  }
  for (const SelectedKey& selected : select_keys(set, options)) {
    const gguf::KeyValue& key = *selected.key;
    json.key(names.claim(key.key, altered));
    json.begin_object();
    if (altered) json.member("name", key.key);
    json.member("index", selected.index);
    json.member("type", gguf::value_type_name(key.type()));
    json.member("offset", key.offset);
    if (const auto* array = std::get_if<gguf::ArrayRef>(&key.value)) {
      MU_TRY(write_array_types(json, file, *array));
      if (options.arrays) {
        json.key("value");
        MU_TRY(write_array(json, file, *array));
      }
    } else {
      json.key("value");
      write_scalar(json, key.value);
    }
    json.end_object();
  }
  json.end_object();
  return {};
}

void write_type(json::Writer& json, const gguf::TensorInfo& tensor) {
  json.key("type");
  if (const auto type = tensor.type()) {
    json.string(type_name(*type));
  } else {
    json.number(tensor.type_id);
  }
}

void write_shape(json::Writer& json, const gguf::TensorInfo& tensor) {
  json.key("shape");
  json.begin_array();
  for (const u64 dim : tensor.ne) json.number(dim);
  json.end_array();
}

void write_tensors(json::Writer& json, const gguf::SplitSet& set, const GgufDumpOptions& options) {
  MemberNames names;
  bool altered = false;
  json.key("tensors");
  json.begin_object();
  std::vector<SelectedTensor> listed;
  if (options.tensors) listed = select_tensors(set, options);  // as gguf-py: without them the object is empty
  for (const SelectedTensor& selected : listed) {
    const gguf::TensorInfo& tensor = *selected.tensor;
    json.key(names.claim(tensor.name, altered));
    json.begin_object();
    if (altered) json.member("name", tensor.name);
    json.member("index", selected.index);
    write_shape(json, tensor);
    write_type(json, tensor);
    json.member("offset", tensor.info_offset);
    number_or_null(json, "data_offset", data_offset_of(selected));
    number_or_null(json, "bytes", tensor.bytes());
    if (set.is_split()) json.member("file", base_name_of(selected.file->path));
    json.end_object();
  }
  json.end_object();
}

void write_summary(json::Writer& json, const gguf::SplitSet& set) {
  const GgufSummary summary = summarize(set);
  const gguf::Document& first = set.files.front().document;
  json.member("schema", "gguf-dump/1");
  number_or_null(json, "file_size", summary.file_size);
  json.member("alignment", first.alignment);
  number_or_null(json, "data_offset", first.complete ? std::optional<u64>(first.data_offset) : std::nullopt);
  number_or_null(json, "parameters", summary.parameters);
  json.key("bits_per_weight");
  if (summary.bits_per_weight) {
    json.number(*summary.bits_per_weight);
  } else {
    json.null();
  }
  json.key("types");
  json.begin_object();
  for (const TypeTotal& total : summary.types) {
    json.key(total.name);
    json.begin_object();
    json.member("tensors", total.tensors);
    number_or_null(json, "bytes", total.bytes);
    json.end_object();
  }
  json.end_object();
  if (!set.is_split()) return;
  json.key("files");
  json.begin_array();
  for (const gguf::SetFile& file : set.files) {
    json.begin_object();
    json.member("name", base_name_of(file.path));
    number_or_null(json, "file_size", file.document.file_size);
    json.member("alignment", file.document.alignment);
    number_or_null(json, "data_offset",
                   file.document.complete ? std::optional<u64>(file.document.data_offset) : std::nullopt);
    json.member("tensors", static_cast<u64>(file.document.tensors.size()));
    json.end_object();
  }
  json.end_array();
}

}  // namespace

bool ArrayToJson::begin() {
  json_.begin_array();
  return true;
}

bool ArrayToJson::end() {
  json_.end_array();
  return true;
}

bool ArrayToJson::text(std::string_view text) {
  json_.string(text);
  return true;
}

bool ArrayToJson::scalar(const gguf::Value& value) {
  write_scalar(json_, value);
  return true;
}

Status write_array(json::Writer& json, const gguf::SetFile& file, const gguf::ArrayRef& array) {
  ArrayToJson writer(json);
  writer.begin();
  MU_TRY(gguf::visit_array(*file.source, file.document, array, writer));
  writer.end();
  return {};
}

Status dump_gguf_json(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options,
                      TextOutput& out) {
  json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  json.begin_object();
  json.member("filename", path);
  json.member("endian", set.files.front().document.big_endian ? "BIG" : "LITTLE");
  write_summary(json, set);
  MU_TRY(write_keys(json, set, options));
  write_tensors(json, set, options);
  json.end_object();
  json.end_line();
  json.flush();
  return {};
}

Status dump_gguf_jsonl(const gguf::SplitSet& set, const GgufDumpOptions& options, TextOutput& out) {
  json::Writer json(json::Writer::Style::compact, [&](std::string_view text) { out << text; });
  for (const SelectedTensor& selected : select_tensors(set, options)) {
    const gguf::TensorInfo& tensor = *selected.tensor;
    json.begin_object();
    json.member("index", selected.index);
    json.member("name", tensor.name);
    write_type(json, tensor);
    write_shape(json, tensor);
    number_or_null(json, "parameters", tensor.elements());
    number_or_null(json, "bytes", tensor.bytes());
    json.member("offset", tensor.info_offset);
    number_or_null(json, "data_offset", data_offset_of(selected));
    if (set.is_split() || options.several) json.member("file", told_file(selected, options));
    json.end_object();
    json.end_line();
  }
  json.flush();
  return {};
}

}  // namespace modelutils
