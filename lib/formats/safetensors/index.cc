#include "formats/safetensors/index.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/name_index.h"
#include "base/os/files.h"
#include "base/path.h"
#include "formats/safetensors/parse.h"
#include "formats/safetensors/text.h"
#include "io/file_kind.h"
#include "io/model_folder.h"
#include "json/cursor.h"

namespace modelutils::safetensors {

namespace {

constexpr std::string_view extension = ".safetensors";
// Usual names of a model's file, without the extension; the latter is that of diffusers.
constexpr std::array<std::string_view, 2> usual_stems = {"model", "diffusion_pytorch_model"};
constexpr std::string_view checkpoint_prefix = "pytorch_model", checkpoint_extension = ".bin";

/// Removes the number at the end of `text` and returns it.
std::optional<u64> take_number(std::string_view& text) {
  const std::size_t begin = text.find_last_not_of("0123456789") + 1;
  const std::string_view digits = text.substr(begin);
  u64 number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || parsed.ec != std::errc{}) return std::nullopt;
  text.remove_suffix(digits.size());
  return number;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// Returns the usual name of a file with text between that and its extension: "model" for "model.fp16.safetensors".
std::optional<std::string_view> stem_of_variant(std::string_view name) {
  const std::string_view stem = name.substr(0, name.find('.'));
  if (name.size() <= stem.size() + extension.size()) return std::nullopt;
  const std::string plain = std::string(stem) + std::string(extension);
  const std::optional<ShardName> shard = shard_name(plain);
  for (const std::string_view usual : usual_stems) {
    if (stem == usual || (shard && shard->prefix == usual)) return usual;
  }
  return std::nullopt;
}

// True if the file is a variant of one of `weights`, which are sorted.
bool is_variant(std::string_view name, const std::vector<std::string>& weights) {
  const auto stem = stem_of_variant(name);
  return stem && std::ranges::binary_search(weights, std::string(*stem) + std::string(extension));
}

}  // namespace

std::optional<ShardName> shard_name(std::string_view base_name) {
  if (!take_suffix(base_name, is_checkpoint_name(base_name) ? checkpoint_extension : extension)) return std::nullopt;
  const std::optional<u64> count = take_number(base_name);
  if (!count || !take_suffix(base_name, "-of-")) return std::nullopt;
  const std::optional<u64> number = take_number(base_name);
  if (!number || !take_suffix(base_name, "-")) return std::nullopt;
  return ShardName{base_name, *number, *count};
}

bool is_checkpoint_name(std::string_view base_name) {
  return base_name.starts_with(checkpoint_prefix) && base_name.ends_with(checkpoint_extension);
}

bool is_checkpoint_index_name(std::string_view base_name) {
  return base_name.starts_with(checkpoint_prefix) && base_name.ends_with(".json") &&
         base_name.find(".bin.index") != base_name.npos;
}

bool is_index_name(std::string_view base_name) {
  return (base_name.ends_with(".json") && base_name.find(".safetensors.index") != base_name.npos) ||
         is_checkpoint_index_name(base_name);
}

bool is_index(std::string_view path, std::string_view head) {
  return is_index_name(base_name_of(path)) ||
         (path.ends_with(".json") && head.find("\"weight_map\"") != std::string_view::npos);
}

bool is_prediction_name(std::string_view base_name) {
  if (base_name == "mtp.safetensors" || base_name == "mtp.safetensors.index.json") return true;
  const std::optional<ShardName> shard = shard_name(base_name);
  return shard && shard->prefix == "mtp";
}

Folder::Folder(std::string folder_path) : path(std::move(folder_path)) {
  Result<std::vector<std::string>> names = list_if_present(path);
  if (!names) {
    problem = std::move(names.error());
    return;
  }
  for (std::string& name : *names) {
    if (name.starts_with('.')) continue;
    if (name.ends_with(extension)) {
      weights.push_back(std::move(name));
    } else if (is_checkpoint_name(name)) {
      checkpoints.push_back(std::move(name));
    } else if (is_checkpoint_index_name(name)) {
      checkpoint_indexes.push_back(std::move(name));
    } else if (is_index_name(name)) {
      indexes.push_back(std::move(name));
    }
  }
}

std::optional<std::string> Folder::index() const {
  const std::vector<std::string>& files = index_files();
  if (files.empty()) return std::nullopt;
  for (const std::string_view name :
       {std::string_view(holds_checkpoints() ? "pytorch_model.bin.index.json" : "model.safetensors.index.json"),
        std::string_view("diffusion_pytorch_model.safetensors.index.json")}) {
    if (std::ranges::find(files, name) != files.end()) return std::string(name);
  }
  // An index of separate prediction blocks is not the model's own index.
  const auto own = std::ranges::find_if_not(files, is_prediction_name);
  if (own != files.end()) return *own;
  return prediction_files().empty() ? std::optional(files.front()) : std::nullopt;
}

std::vector<std::string> Folder::model_files() const {
  const auto is_aside = [](std::string_view name) {
    return name.starts_with("consolidated") || name.starts_with("adapter");
  };
  if (holds_checkpoints()) return checkpoints;
  std::vector<std::string> chosen;
  std::ranges::copy_if(weights, std::back_inserter(chosen),
                       [&](std::string_view name) { return name.starts_with("model") && !is_variant(name, weights); });
  if (!chosen.empty()) return chosen;
  std::copy_if(weights.begin(), weights.end(), std::back_inserter(chosen),
               [&](std::string_view name) { return !is_aside(name) && !is_variant(name, weights); });
  return chosen.empty() ? weights : chosen;
}

std::vector<std::string> Folder::variant_files() const {
  std::vector<std::string> found;
  std::ranges::copy_if(weights, std::back_inserter(found),
                       [&](std::string_view name) { return is_variant(name, weights); });
  return found;
}

std::vector<std::string> Folder::prediction_files() const {
  std::vector<std::string> found;
  std::ranges::copy_if(weights, std::back_inserter(found), is_prediction_name);
  if (found.size() == weights.size()) found.clear();
  return found;
}

std::vector<ShardGroup> shard_groups(const std::vector<std::string>& base_names) {
  // Each key is a file name without its number; the separator cannot occur in file names.
  std::vector<std::string> keys;
  keys.reserve(base_names.size());
  NameIndex numbered;
  numbered.reserve(base_names.size());
  std::vector<ShardGroup> groups;
  std::vector<std::vector<u64>> present;
  for (const std::string& name : base_names) {
    const std::optional<ShardName> shard = shard_name(name);
    if (!shard) continue;
    keys.push_back(std::to_string(shard->count) + '/' + std::string(shard->prefix));
    const NameIndex::Inserted group = numbered.insert(keys.back());
    if (group.is_new) {
      groups.push_back({name, shard->number, shard->count, 0, 0});
      present.emplace_back();
    }
    if (shard->number >= 1 && shard->number <= shard->count) present[group.number].push_back(shard->number);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<u64>& numbers = present[i];
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    groups[i].missing = groups[i].count - numbers.size();
    u64 first = 1;
    for (const u64 number : numbers) {
      if (number != first) break;
      ++first;
    }
    groups[i].first_missing = first;
  }
  return groups;
}

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
  return name.find('\\') == name.npos && stays_below(name) && !os::leads_elsewhere(name);
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
