#include "safetensors/write.h"

#include <fmt/core.h>

#include "base/checked_math.h"
#include "base/escape.h"
#include "base/joined.h"
#include "base/name_index.h"
#include "base/utf8.h"
#include "safetensors/document.h"

namespace modelutils::safetensors {

namespace {

constexpr u64 data_alignment = 8;
constexpr std::string_view metadata_name = "__metadata__";

void append_string(std::string& json, std::string_view text) {
  json += '"';
  append_json_escaped(json, text);
  json += '"';
}

Status append_metadata(std::string& json, const OutMetadata& metadata) {
  NameIndex keys;
  append_string(json, metadata_name);
  json += ":{";
  for (const auto& [key, value] : metadata) {
    if (!is_utf8(key) || !is_utf8(value) || !keys.insert(key).is_new) {
      return input_error("st-write-name", "metadata must be UTF-8 and each key must be unique",
                         fmt::format("metadata '{}'", key));
    }
    if (json.back() != '{') json += ',';
    append_string(json, key);
    json += ':';
    append_string(json, value);
  }
  json += '}';
  return {};
}

Result<u64> checked_bytes(const OutTensor& tensor) {
  const std::string where = at_tensor(tensor.name);
  if (!type_info(tensor.type).in_safetensors) {
    return input_error("st-write-dtype", fmt::format("{} is not a safetensors dtype", type_name(tensor.type)), where);
  }
  Tensor entry;
  entry.shape = tensor.shape;
  entry.type = tensor.type;
  const std::optional<u64> bytes = entry.expected_bytes();
  if (!bytes) {
    return input_error("st-write-shape", "its size does not fit in 64 bits, or is not a whole number of bytes", where);
  }
  return *bytes;
}

void append_tensor(std::string& json, const OutTensor& tensor, std::pair<u64, u64> offsets) {
  append_string(json, tensor.name);
  json += fmt::format(R"(:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", type_name(tensor.type),
                      joined(tensor.shape, ","), offsets.first, offsets.second);
}

}  // namespace

Result<OutLayout> layout(const OutMetadata& metadata, const std::vector<OutTensor>& tensors,
                         const OutOptions& options) {
  OutLayout out;
  std::string json = "{";
  if (!metadata.empty()) MU_TRY(append_metadata(json, metadata));
  NameIndex names;
  u64 end = 0;
  for (const OutTensor& tensor : tensors) {
    if (!is_utf8(tensor.name) || tensor.name == metadata_name || !names.insert(tensor.name).is_new) {
      return input_error("st-write-name", "a tensor's name must be UTF-8, must not be __metadata__ and must be unique",
                         at_tensor(tensor.name));
    }
    MU_ASSIGN(const u64 bytes, checked_bytes(tensor));
    const std::optional<u64> next = checked_add(end, bytes);
    if (!next) return input_error("st-write-too-large", "the total size of the tensors does not fit in 64 bits");
    out.offsets.emplace_back(end, *next);
    end = *next;
    if (json.size() > 1) json += ',';
    append_tensor(json, tensor, out.offsets.back());
  }
  json += '}';
  while (options.pad_header && json.size() % data_alignment != 0) json += ' ';
  const std::optional<u64> file_size = checked_add(end, length_bytes + json.size());
  if (json.size() > max_header_bytes || !file_size) {
    return input_error("st-write-too-large",
                       fmt::format("the header takes {} bytes, at most {} are allowed", json.size(), max_header_bytes));
  }
  out.file_size = *file_size;
  for (u64 i = 0, length = json.size(); i < length_bytes; ++i) out.header += static_cast<char>(length >> (8 * i));
  out.header += json;
  return out;
}

}  // namespace modelutils::safetensors
