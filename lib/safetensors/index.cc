#include "safetensors/index.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/name_index.h"
#include "io/file_kind.h"
#include "json/cursor.h"
#include "safetensors/document.h"
#include "safetensors/text.h"

namespace modelutils::safetensors {

namespace {

using json::Kind;
using json::SyntaxError;

/// After a syntax error, the cursor reads nothing more, so its loops end without a check.
class IndexParser {
 public:
  IndexParser(Text& text, ShardIndex& index)
      : text_(text.view()), index_(index), log_(index.findings), cursor_(text.span(), max_depth) {}

  void run();

 private:
  void read_object();
  void read_metadata();
  void read_total_size(u64 offset);
  void read_weight_map(u64 offset);
  void read_entry(std::string_view tensor, NameIndex& tensors);
  void take(std::string_view tensor, std::string_view file, u64 offset);
  void sort_shards();

  void refuse(std::optional<u64> offset, std::string message) {
    log_.error(Scope::container, "st-index-json", std::move(message), {}, offset);
  }

  const std::string_view text_;
  ShardIndex& index_;
  FindingLog& log_;
  json::Cursor cursor_;
  NameIndex shards_;
  bool has_weight_map_ = false;
};

void IndexParser::run() {
  const std::size_t first = text_.find_first_not_of(" \t\r\n");
  if (first == text_.npos) return refuse(std::nullopt, "the index is empty");
  if (text_.starts_with("\xef\xbb\xbf"))
    return refuse(0, "the index starts with a byte order mark, which is not allowed");
  if (text_[first] != '{') {
    const FileKind kind = file_kind(text_.substr(0, file_kind_bytes));
    if (kind != FileKind::unknown)
      return refuse(first, fmt::format("the index is not JSON: it is {}", file_kind_text(kind)));
    return refuse(first, "the index is not a JSON object: it must start with '{'");
  }
  cursor_.next();
  read_object();
  if (cursor_.error() == SyntaxError::depth) {
    refuse(cursor_.error_offset(), fmt::format("the index is nested more than {} levels deep", max_depth));
  } else if (cursor_.failed()) {
    refuse(cursor_.error_offset(), fmt::format("the index is not valid JSON: {}", json::syntax_text(cursor_.error())));
  } else if (!has_weight_map_) {
    log_.error(Scope::container, "st-index-weight-map", "weight_map is missing");
  }
  index_.usable = index_.usable && !cursor_.failed();
  sort_shards();
}

void IndexParser::read_object() {
  NameIndex members;
  cursor_.enter();
  for (std::string_view key; cursor_.member(key);) {
    const u64 offset = cursor_.key_offset();
    if (!members.insert(key).is_new) {
      log_.error(Scope::container, "st-index-duplicate", fmt::format("'{}' appears twice in the index", key), {},
                 offset);
      cursor_.skip();
    } else if (key == "metadata") {
      read_metadata();
    } else if (key == "weight_map") {
      read_weight_map(offset);
    } else {
      cursor_.skip();
    }
  }
  if (!cursor_.failed() && !cursor_.at_end()) refuse(cursor_.offset(), "text follows the index's JSON object");
}

void IndexParser::read_metadata() {
  const Kind kind = cursor_.next();
  if (kind != Kind::object) {
    if (kind != Kind::null && kind != Kind::none) {
      log_.warning(Scope::container, "st-index-metadata", "is not an object", "metadata");
    }
    cursor_.skip();
    return;
  }
  bool has_total = false;
  cursor_.enter();
  for (std::string_view key; cursor_.member(key);) {
    const u64 offset = cursor_.key_offset();
    if (key != "total_size") {
      cursor_.skip();
    } else if (has_total) {
      log_.error(Scope::container, "st-index-duplicate", "total_size appears twice", "metadata", offset);
      cursor_.skip();
    } else {
      has_total = true;
      read_total_size(offset);
    }
  }
}

void IndexParser::read_total_size(u64 offset) {
  const Kind kind = cursor_.next();
  if (kind == Kind::number) {
    json::Number number;
    if (!cursor_.number(number)) return;
    if (number.form == json::Number::Form::natural) {
      index_.total_size = number.natural;
      return;
    }
    // Some writers store a float, and 48.0 is an integer. Such a value is only used for a comparison.
    constexpr double exact_doubles = 9007199254740992.0;  // 2^53
    const double decimal =
        number.form == json::Number::Form::decimal ? number.decimal : static_cast<double>(number.negative);
    if (decimal >= 0 && decimal <= exact_doubles && std::floor(decimal) == decimal) {
      index_.total_size = static_cast<u64>(decimal);
      return;
    }
  } else if (!cursor_.skip()) {
    return;
  }
  log_.warning(Scope::container, "st-index-total-size", "total_size is not a 64-bit whole number", "metadata", offset);
}

void IndexParser::read_weight_map(u64 offset) {
  has_weight_map_ = true;
  const Kind kind = cursor_.next();
  if (kind == Kind::none) return;
  if (kind != Kind::object) {
    log_.error(Scope::container, "st-index-weight-map", "weight_map is not an object of file names", {}, offset);
    cursor_.skip();
    return;
  }
  NameIndex tensors;
  cursor_.enter();
  for (std::string_view tensor; cursor_.member(tensor);) read_entry(tensor, tensors);
  if (cursor_.failed()) return;
  if (tensors.size() == 0) log_.error(Scope::container, "st-index-weight-map", "weight_map is empty", {}, offset);
  index_.usable = tensors.size() != 0;
}

void IndexParser::read_entry(std::string_view tensor, NameIndex& tensors) {
  const u64 offset = cursor_.key_offset();
  const bool is_new = tensors.insert(tensor).is_new;
  if (!is_new) {
    log_.error(Scope::container, "st-index-duplicate", "appears twice in weight_map", at_tensor(tensor), offset);
  }
  const Kind kind = cursor_.next();
  if (kind == Kind::none) return;
  if (kind != Kind::string) {
    log_.error(Scope::container, "st-index-weight-map", "the file name is not a string", at_tensor(tensor), offset);
    cursor_.skip();
    return;
  }
  std::string_view file;
  if (cursor_.string(file) && is_new) take(tensor, file, offset);
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
  MU_ASSIGN(Text text, read_text(source, 0, static_cast<std::size_t>(*size)));
  IndexParser(text, index).run();
  return index;
}

}  // namespace modelutils::safetensors
