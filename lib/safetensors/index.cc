#include "safetensors/index.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/name_index.h"
#include "io/file_kind.h"
#include "json/syntax_text.h"
#include "safetensors/document.h"
#include "safetensors/on_demand.h"

namespace modelutils::safetensors {

namespace {

using on_demand::error_code;
using on_demand::json_type;
using on_demand::SUCCESS;
using on_demand::Text;
using simdjson::ondemand::field;
using simdjson::ondemand::object;
using simdjson::ondemand::value;

class IndexParser {
 public:
  IndexParser(const on_demand::PaddedText& text, ShardIndex& index)
      : text_(text), index_(index), log_(index.findings) {}

  void run();

 private:
  error_code read_object(object top);
  error_code read_metadata(value metadata);
  error_code read_total_size(value total, u64 offset);
  error_code read_weight_map(value map, u64 offset);
  error_code read_entry(field& member, NameIndex& tensors);
  void take(std::string_view tensor, std::string_view file, u64 offset);
  void sort_shards();

  u64 offset_of(const char* place) const { return static_cast<u64>(place - text_.bytes.get()); }
  void refuse(std::optional<u64> offset, std::string message) {
    log_.error(Scope::container, "st-index-json", std::move(message), {}, offset);
  }

  const on_demand::PaddedText& text_;
  ShardIndex& index_;
  FindingLog& log_;
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document json_;
  NameIndex shards_;
  bool has_weight_map_ = false;
};

void IndexParser::run() {
  const std::string_view text = text_.view();
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return refuse(std::nullopt, "the index is empty");
  if (text.starts_with("\xef\xbb\xbf"))
    return refuse(0, "the index starts with a byte order mark, which is not allowed");
  if (text[first] != '{') {
    const FileKind kind = file_kind(text.substr(0, file_kind_bytes));
    if (kind != FileKind::unknown)
      return refuse(first, fmt::format("the index is not JSON: it is {}", file_kind_text(kind)));
    return refuse(first, "the index is not a JSON object: it must start with '{'");
  }
  error_code error = parser_.iterate(text_.padded()).get(json_);
  std::optional<u64> place;
  if (error == simdjson::UTF8_ERROR) place = on_demand::first_invalid_utf8(text);
  if (error == SUCCESS) {
    object top;
    error = json_.get_object().get(top);
    if (error == SUCCESS) error = read_object(top);
    const char* location = nullptr;
    if (error != SUCCESS && json_.current_location().get(location) == SUCCESS) place = offset_of(location);
  }
  if (error == simdjson::DEPTH_ERROR) {
    refuse(place, fmt::format("the index is nested more than {} levels deep", on_demand::max_depth));
  } else if (error != SUCCESS) {
    refuse(place, fmt::format("the index is not valid JSON: {}", json::syntax_text(error)));
  } else if (!has_weight_map_) {
    log_.error(Scope::container, "st-index-weight-map", "weight_map is missing");
  }
  index_.usable = index_.usable && error == SUCCESS;
  sort_shards();
}

error_code IndexParser::read_object(object top) {
  NameIndex members;
  for (auto element : top) {
    field member;
    if (const error_code error = std::move(element).get(member)) return error;
    const u64 offset = offset_of(member.key().raw() - 1);
    Text key;
    if (const error_code error = on_demand::read_key(member, key)) return error;
    // Unescaped names live in the parser's memory, which outlives `members`.
    if (!members.insert(key.text).is_new) {
      log_.error(Scope::container, "st-index-duplicate", fmt::format("'{}' appears twice in the index", key.text), {},
                 offset);
      if (const error_code error = on_demand::walk(member.value(), 1)) return error;
      continue;
    }
    error_code error = SUCCESS;
    if (key.text == "metadata") {
      error = read_metadata(member.value());
    } else if (key.text == "weight_map") {
      error = read_weight_map(member.value(), offset);
    } else {
      error = on_demand::walk(member.value(), 1);
    }
    if (error != SUCCESS) return error;
  }
  const char* rest = nullptr;
  if (json_.current_location().get(rest) == SUCCESS) {
    refuse(offset_of(rest), "text follows the index's JSON object");
  }
  return SUCCESS;
}

error_code IndexParser::read_metadata(value metadata) {
  json_type type{};
  if (const error_code error = metadata.type().get(type)) return error;
  if (type != json_type::object) {
    if (type != json_type::null) {
      log_.warning(Scope::container, "st-index-metadata", "is not an object", "metadata");
    }
    return on_demand::walk(metadata, 1);
  }
  object members;
  if (const error_code error = metadata.get_object().get(members)) return error;
  bool has_total = false;
  for (auto element : members) {
    field member;
    if (const error_code error = std::move(element).get(member)) return error;
    const u64 offset = offset_of(member.key().raw() - 1);
    Text key;
    if (const error_code error = on_demand::read_key(member, key)) return error;
    error_code error = SUCCESS;
    if (key.text != "total_size") {
      error = on_demand::walk(member.value(), 2);
    } else if (has_total) {
      log_.error(Scope::container, "st-index-duplicate", "total_size appears twice", "metadata", offset);
      error = on_demand::walk(member.value(), 2);
    } else {
      has_total = true;
      error = read_total_size(member.value(), offset);
    }
    if (error != SUCCESS) return error;
  }
  return SUCCESS;
}

error_code IndexParser::read_total_size(value total, u64 offset) {
  std::uint64_t whole = 0;
  if (total.get_uint64().get(whole) == SUCCESS) {
    index_.total_size = whole;
    return SUCCESS;
  }
  // Some writers store a float, and 48.0 is an integer. Such a value is only used for a comparison.
  double number = 0;
  constexpr double exact_doubles = 9007199254740992.0;  // 2^53
  if (total.get_double().get(number) == SUCCESS && number >= 0 && number <= exact_doubles &&
      std::floor(number) == number) {
    index_.total_size = static_cast<u64>(number);
    return SUCCESS;
  }
  log_.warning(Scope::container, "st-index-total-size", "total_size is not a 64-bit whole number", "metadata", offset);
  return on_demand::walk(total, 2);
}

error_code IndexParser::read_weight_map(value map, u64 offset) {
  has_weight_map_ = true;
  json_type type{};
  if (const error_code error = map.type().get(type)) return error;
  if (type != json_type::object) {
    log_.error(Scope::container, "st-index-weight-map", "weight_map is not an object of file names", {}, offset);
    return on_demand::walk(map, 1);
  }
  object members;
  if (const error_code error = map.get_object().get(members)) return error;
  NameIndex tensors;
  for (auto element : members) {
    field member;
    if (const error_code error = std::move(element).get(member)) return error;
    if (const error_code error = read_entry(member, tensors)) return error;
  }
  if (tensors.size() == 0) log_.error(Scope::container, "st-index-weight-map", "weight_map is empty", {}, offset);
  index_.usable = tensors.size() != 0;
  return SUCCESS;
}

error_code IndexParser::read_entry(field& member, NameIndex& tensors) {
  const u64 offset = offset_of(member.key().raw() - 1);
  Text tensor;
  if (const error_code error = on_demand::read_key(member, tensor)) return error;
  const bool is_new = tensors.insert(tensor.text).is_new;
  if (!is_new) {
    log_.error(Scope::container, "st-index-duplicate", "appears twice in weight_map", at_tensor(tensor.text), offset);
  }
  Text file;
  value held = member.value();
  const error_code error = on_demand::read_string(held, file);
  if (error == simdjson::INCORRECT_TYPE) {
    log_.error(Scope::container, "st-index-weight-map", "the file name is not a string", at_tensor(tensor.text),
               offset);
    return on_demand::walk(held, 2);
  }
  if (error != SUCCESS) return error;
  if (is_new) take(tensor.text, file.text, offset);
  return SUCCESS;
}

void IndexParser::take(std::string_view tensor, std::string_view file, u64 offset) {
  if (!is_shard_path(file)) {
    log_.error(
        Scope::container, "st-index-file-name",
        fmt::format("the file name '{}' is refused: only files in the index's folder or below it are allowed", file),
        at_tensor(tensor), offset);
    return;
  }
  index_.entries.push_back({std::string(tensor), shards_.insert(file).number, offset});
}

void IndexParser::sort_shards() {
  std::vector<u32> order(shards_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](u32 a, u32 b) { return shards_.name(a) < shards_.name(b); });
  std::vector<u32> place(order.size());
  for (u32 i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    index_.shards.emplace_back(shards_.name(order[i]));
  }
  for (IndexEntry& entry : index_.entries) entry.shard = place[entry.shard];
}

}  // namespace

bool is_shard_path(std::string_view name) {
  constexpr std::string_view forbidden("\\\0", 2);
  if (name.find_first_of(forbidden) != name.npos) return false;
  while (true) {
    const std::size_t end = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, end);
    if (part.empty() || part == "." || part == "..") return false;
    if (end == name.size()) return true;
    name.remove_prefix(end + 1);
  }
}

Result<ShardIndex> parse_index(const ByteSource& source) {
  ShardIndex index;
  const std::optional<u64> size = source.size();
  if (!size || *size > max_header_bytes) {
    index.findings.error(Scope::container, "st-index-json",
                         fmt::format("the index is longer than {} bytes", max_header_bytes));
    return index;
  }
  MU_ASSIGN(const on_demand::PaddedText text, on_demand::read_text(source, 0, static_cast<std::size_t>(*size)));
  IndexParser(text, index).run();
  return index;
}

}  // namespace modelutils::safetensors
