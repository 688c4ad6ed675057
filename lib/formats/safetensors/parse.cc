#include "formats/safetensors/parse.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/byte_reader.h"
#include "base/escape.h"
#include "base/name_index.h"
#include "base/text.h"
#include "base/types.h"
#include "base/utf8.h"
#include "formats/safetensors/header_parser.h"
#include "io/file_kind.h"

namespace modelutils::safetensors {

std::optional<u64> Tensor::elements() const {
  return checked_product(shape);
}

std::optional<u64> Tensor::expected_bytes() const {
  const std::optional<u64> count = elements();
  return type && count ? packed_bytes(*type, *count) : std::nullopt;
}

std::vector<u64> Tensor::ne() const {
  return {shape.rbegin(), shape.rend()};
}

std::optional<u64> Document::data_bytes() const {
  if (!file_size) return std::nullopt;
  return *file_size >= data_offset ? *file_size - data_offset : 0;
}

bool Document::holds(const Tensor& tensor) const {
  const std::optional<u64> data = data_bytes();
  return tensor.begin <= tensor.end && (!data || tensor.end <= *data);
}

const Tensor* Document::find(std::string_view tensor) const {
  if (names.size() != 0) {
    const std::optional<u32> place = names.find(tensor);
    return place ? &tensors[*place] : nullptr;
  }
  for (const Tensor& entry : tensors) {
    if (entry.name == tensor) return &entry;
  }
  return nullptr;
}

namespace {

bool is_named_safetensors(std::string_view name) {
  constexpr std::string_view ending = ".safetensors";
  if (name.size() < ending.size()) return false;
  name = name.substr(name.size() - ending.size());
  return std::equal(name.begin(), name.end(), ending.begin(),
                    [](char have, char want) { return (have >= 'A' && have <= 'Z' ? have + 32 : have) == want; });
}

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char c) { return (c >= ' ' && c <= '~') || (c >= '\t' && c <= '\r'); });
}

void refuse(Document& document, std::string code, u64 offset, std::string message, bool leads = false) {
  document.findings.add({.code = std::move(code), .message = std::move(message), .offset = offset, .leads = leads});
}

}  // namespace

bool is_safetensors(std::string_view head, std::string_view name) {
  return begins_as_safetensors(head) || (is_named_safetensors(name) && file_kind(head) == FileKind::unknown);
}

Result<Document> parse(const ByteSource& source) {
  std::byte first{};
  MU_TRY(source.read_some(0, {&first, 1}));  // reports a source that cannot be read at all
  const std::string head = read_head(source);
  if (!is_safetensors(head, source.name())) {
    return input_error("st-not-safetensors",
                       fmt::format("is not a safetensors file but {}", file_kind_text(file_kind(head))), {}, {},
                       source.name());
  }

  Document document;
  document.name = source.name();
  document.file_size = source.size();
  if (head.size() < length_bytes) {
    refuse(document, "st-truncated", head.size(),
           fmt::format("incomplete: the file has {}, but the header's length alone takes 8; download it again",
                       counted(head.size(), "byte")),
           true);
    return document;
  }
  const u64 length = load<u64>(head.data());
  document.header_bytes = length;
  if (length > max_header_bytes && is_text(head.substr(0, length_bytes))) {
    // Do not quote the contents, not even as a number: a shard may be a link to an unrelated, private file.
    refuse(document, "st-header-length", 0, "the file starts with text, not with a header length");
    return document;
  }
  if (length == 0 || length > max_header_bytes) {
    refuse(document, "st-header-length", 0,
           fmt::format("the header's length is {}, it must be 1 to {}", length, max_header_bytes));
    return document;
  }
  document.data_offset = length_bytes + length;
  if (document.file_size && document.data_offset > *document.file_size) {
    refuse(document, "st-header-length", 0,
           fmt::format("{}; the file ends inside its header, which is {} long",
                       incomplete_text(*document.file_size, document.data_offset, true), counted(length, "byte")),
           true);
    return document;
  }
  const auto storage = std::make_shared<Storage>();
  auto text = read_text(source, length_bytes, static_cast<std::size_t>(length));
  if (!text) {
    if (text.error().code != "io-short") return tl::make_unexpected(std::move(text.error()));
    refuse(document, "st-truncated", *text.error().offset,
           "incomplete: the input ends inside the header; download it again", true);
    document.file_size = source.size();
    return document;
  }
  storage->text = std::move(*text);
  parse_header(*storage, length_bytes, document);
  document.storage = storage;
  return document;
}

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
