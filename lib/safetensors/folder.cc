#include "safetensors/folder.h"

#include <algorithm>
#include <charconv>

#include "base/name_index.h"
#include "io/model_folder.h"

namespace modelutils::safetensors {

namespace {

constexpr std::string_view extension = ".safetensors";
constexpr std::string_view usual_name = "model.safetensors";
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

// True if there is text between a model's usual file name and its extension, as in "model.fp16.safetensors".
bool is_variant(std::string_view name) {
  const std::string_view stem = name.substr(0, name.find('.'));
  if (name.size() <= stem.size() + extension.size()) return false;
  const std::string plain = std::string(stem) + std::string(extension);
  const std::optional<ShardName> shard = shard_name(plain);
  return stem == "model" || (shard && shard->prefix == "model");
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
  const auto usual = std::find(files.begin(), files.end(),
                               holds_checkpoints() ? "pytorch_model.bin.index.json" : "model.safetensors.index.json");
  if (usual != files.end()) return *usual;
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
  const bool has_variants = std::ranges::binary_search(weights, usual_name);
  std::vector<std::string> chosen;
  std::ranges::copy_if(weights, std::back_inserter(chosen), [&](std::string_view name) {
    return name.starts_with("model") && !(has_variants && is_variant(name));
  });
  if (!chosen.empty()) return chosen;
  std::copy_if(weights.begin(), weights.end(), std::back_inserter(chosen),
               [&](std::string_view name) { return !is_aside(name); });
  return chosen.empty() ? weights : chosen;
}

std::vector<std::string> Folder::variant_files() const {
  std::vector<std::string> found;
  if (std::ranges::binary_search(weights, usual_name)) {
    std::ranges::copy_if(weights, std::back_inserter(found), is_variant);
  }
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

}  // namespace modelutils::safetensors
