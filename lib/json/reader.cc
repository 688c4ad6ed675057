#include "json/reader.h"

#include "base/checked_math.h"
#include "io/random_access_file.h"

namespace modelutils::json {

Result<std::unique_ptr<Document>> parse(std::string_view text, std::string name) {
  auto document = std::make_unique<Document>();
  document->name = std::move(name);
  const simdjson::padded_string padded(text);
  const simdjson::error_code error = document->parser_.parse(padded).get(document->root);
  if (error != simdjson::SUCCESS) {
    return input_error("json-syntax", std::string("is no valid JSON: ") + simdjson::error_message(error), {}, {},
                       document->name);
  }
  return document;
}

Result<std::unique_ptr<Document>> load(const std::string& path, u64 max_bytes) {
  MU_ASSIGN(const auto file, RandomAccessFile::open(path));
  if (file->file_size() > max_bytes) {
    return input_error(
        "json-too-large",
        "has " + std::to_string(file->file_size()) + " bytes, at most " + std::to_string(max_bytes) + " are read", {},
        {}, path);
  }
  std::string text(static_cast<std::size_t>(file->file_size()), '\0');
  MU_TRY(file->read_exact(0, std::as_writable_bytes(std::span(text))));
  return parse(text, path);
}

std::optional<Element> member(Element value, std::string_view key) {
  Object object;
  if (value.get(object) != simdjson::SUCCESS) return std::nullopt;
  Element found;
  if (object.at_key(key).get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
  return found;
}

namespace {

template <typename T>
std::optional<T> typed_member(Element value, std::string_view key) {
  const std::optional<Element> found = member(value, key);
  T typed{};
  if (!found || found->get(typed) != simdjson::SUCCESS) return std::nullopt;
  return typed;
}

}  // namespace

std::optional<std::string_view> string_member(Element value, std::string_view key) {
  return typed_member<std::string_view>(value, key);
}
std::optional<u64> u64_member(Element value, std::string_view key) {
  return typed_member<uint64_t>(value, key);
}
std::optional<i64> i64_member(Element value, std::string_view key) {
  return typed_member<int64_t>(value, key);
}
std::optional<double> number_member(Element value, std::string_view key) {
  return typed_member<double>(value, key);
}
std::optional<bool> bool_member(Element value, std::string_view key) {
  return typed_member<bool>(value, key);
}
std::optional<Array> array_member(Element value, std::string_view key) {
  return typed_member<Array>(value, key);
}
std::optional<Object> object_member(Element value, std::string_view key) {
  return typed_member<Object>(value, key);
}

}  // namespace modelutils::json
