#include "safetensors/on_demand.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/large_pages.h"
#include "base/utf8.h"

namespace modelutils::safetensors::on_demand {

namespace {

using simdjson::ondemand::array;
using simdjson::ondemand::array_iterator;
using simdjson::ondemand::field;
using simdjson::ondemand::object;
using simdjson::ondemand::object_iterator;
using simdjson::ondemand::value;

constexpr std::size_t first_read = std::size_t{1} << 20;  // if the source's size is unknown

/// Finds the text between the quotes if it has no escapes. simdjson's first pass has ensured that there is a closing
/// quote.
bool plain_text(simdjson::ondemand::raw_json_string raw, std::string_view& out) {
  const char* begin = raw.raw();
  const char* quote = static_cast<const char*>(::rawmemchr(begin, '"'));
  const std::size_t size = static_cast<std::size_t>(quote - begin);
  if (std::memchr(begin, '\\', size) != nullptr) return false;
  out = {begin, size};
  return true;
}

error_code check_scalar(value& scalar, json_type type) {
  switch (type) {
    case json_type::string: {
      Text ignored;
      return read_string(scalar, ignored);
    }
    case json_type::number: return scalar.get_double().error();
    case json_type::boolean: return scalar.get_bool().error();
    default: {
      bool is_null = false;
      const error_code error = scalar.is_null().get(is_null);
      return error == SUCCESS && !is_null ? simdjson::N_ATOM_ERROR : error;
    }
  }
}

/// An array or object during the walk.
struct Level {
  bool is_object = false;
  bool is_fresh = true;  // the iterator is at its first child
  array_iterator elements;
  object_iterator members;

  error_code open(value& container, json_type type) {
    is_object = type == json_type::object;
    is_fresh = true;
    if (is_object) {
      object opened;
      if (const error_code error = container.get_object().get(opened)) return error;
      return opened.begin().get(members);
    }
    array opened;
    if (const error_code error = container.get_array().get(opened)) return error;
    return opened.begin().get(elements);
  }

  /// Advances to the next child; sets `has_child` to false at the end.
  error_code next(value& child, bool& has_child) {
    if (is_object) {
      if (!is_fresh) ++members;
      is_fresh = false;
      has_child = members != object_iterator();
      if (!has_child) return SUCCESS;
      field member;
      if (const error_code error = (*members).get(member)) return error;
      Text ignored;
      if (const error_code error = read_key(member, ignored)) return error;
      child = member.value();
      return SUCCESS;
    }
    if (!is_fresh) ++elements;
    is_fresh = false;
    has_child = elements != array_iterator();
    return has_child ? (*elements).get(child) : SUCCESS;
  }
};

error_code walk_container(value current, std::size_t depth) {
  std::array<Level, max_depth> levels;
  std::size_t open = 0;
  while (true) {
    json_type type{};
    if (const error_code error = current.type().get(type)) return error;
    if (type == json_type::array || type == json_type::object) {
      if (open + depth >= max_depth) return simdjson::DEPTH_ERROR;
      if (const error_code error = levels[open].open(current, type)) return error;
      ++open;
    } else if (const error_code error = check_scalar(current, type)) {
      return error;
    }
    bool has_child = false;
    while (open > 0 && !has_child) {
      if (const error_code error = levels[open - 1].next(current, has_child)) return error;
      if (!has_child) --open;
    }
    if (open == 0) return SUCCESS;
  }
}

}  // namespace

Result<PaddedText> read_text(const ByteSource& source, u64 offset, std::size_t size) {
  PaddedText text;
  std::size_t room = source.size() ? size : std::min(size, first_read);
  text.bytes.reset(new char[room + simdjson::SIMDJSON_PADDING]);
  expect_to_fill(text.bytes.get(), room);
  while (text.size < size) {
    if (text.size == room) {
      const std::size_t larger = std::min(size, room * 2);
      std::unique_ptr<char[]> grown(new char[larger + simdjson::SIMDJSON_PADDING]);
      std::memcpy(grown.get(), text.bytes.get(), text.size);
      text.bytes = std::move(grown);
      room = larger;
    }
    const std::span<char> rest(text.bytes.get() + text.size, room - text.size);
    MU_ASSIGN(const std::size_t got, source.read_some(offset + text.size, std::as_writable_bytes(rest)));
    if (got == 0) {
      return input_error("io-short", "ends before its header does", {}, offset + text.size, source.name());
    }
    text.size += got;
  }
  std::memset(text.bytes.get() + size, 0, simdjson::SIMDJSON_PADDING);
  return text;
}

error_code read_key(field& member, Text& out) {
  out.copied = false;
  if (plain_text(member.key(), out.text)) return SUCCESS;
  out.copied = true;
  return member.unescaped_key().get(out.text);
}

error_code read_string(value& string, Text& out) {
  out.copied = false;
  simdjson::ondemand::raw_json_string raw;
  if (const error_code error = string.get_raw_json_string().get(raw)) return error;
  if (plain_text(raw, out.text)) return SUCCESS;
  out.copied = true;
  return string.get_string().get(out.text);
}

error_code walk(value top, std::size_t depth) {
  json_type type{};
  if (const error_code error = top.type().get(type)) return error;
  if (type == json_type::array || type == json_type::object) return walk_container(top, depth);
  return check_scalar(top, type);
}

std::size_t first_invalid_utf8(std::string_view text) {
  std::size_t place = 0;
  while (place < text.size()) {
    const CodePoint point = decode_utf8(text.substr(place));
    if (!point.valid) break;
    place += point.size;
  }
  return place;
}

std::size_t first_raw_control(std::string_view text) {
  bool in_string = false;
  for (std::size_t place = 0; place < text.size(); ++place) {
    const char c = text[place];
    if (c == '"') {
      in_string = !in_string;
    } else if (in_string && c == '\\') {
      ++place;
    } else if (in_string && static_cast<unsigned char>(c) < 0x20) {
      return place;
    }
  }
  return text.size();
}

}  // namespace modelutils::safetensors::on_demand
