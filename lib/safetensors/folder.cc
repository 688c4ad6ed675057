#include "safetensors/folder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace modelutils::safetensors {

namespace {

constexpr std::string_view extension = ".safetensors";

/// Takes the digits at the end of `text` off it.
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

}  // namespace

std::optional<ShardName> shard_name(std::string_view base_name) {
  if (!take_suffix(base_name, extension)) return std::nullopt;
  const std::optional<u64> count = take_number(base_name);
  if (!count || !take_suffix(base_name, "-of-")) return std::nullopt;
  const std::optional<u64> number = take_number(base_name);
  if (!number || !take_suffix(base_name, "-")) return std::nullopt;
  return ShardName{base_name, *number, *count};
}

bool is_index_name(std::string_view base_name) {
  return base_name.ends_with(".json") && base_name.find(".safetensors.index") != base_name.npos;
}

Folder::Folder(std::string folder_path) : path(std::move(folder_path)) {
  std::filesystem::directory_iterator entry(path.empty() ? "." : path, problem);
  for (; !problem && entry != std::filesystem::directory_iterator(); entry.increment(problem)) {
    std::string name = entry->path().filename().string();
    if (name.starts_with('.')) continue;
    if (name.ends_with(extension)) {
      weights.push_back(std::move(name));
    } else if (is_index_name(name)) {
      indexes.push_back(std::move(name));
    }
  }
  std::sort(weights.begin(), weights.end());
  std::sort(indexes.begin(), indexes.end());
}

std::optional<std::string> Folder::index() const {
  if (indexes.empty()) return std::nullopt;
  const auto usual = std::find(indexes.begin(), indexes.end(), "model.safetensors.index.json");
  return usual == indexes.end() ? indexes.front() : *usual;
}

std::vector<std::string> Folder::model_files() const {
  const auto is_aside = [](std::string_view name) {
    return name.starts_with("consolidated") || name.starts_with("adapter");
  };
  std::vector<std::string> chosen;
  std::copy_if(weights.begin(), weights.end(), std::back_inserter(chosen),
               [](std::string_view name) { return name.starts_with("model"); });
  if (!chosen.empty()) return chosen;
  std::copy_if(weights.begin(), weights.end(), std::back_inserter(chosen),
               [&](std::string_view name) { return !is_aside(name); });
  return chosen.empty() ? weights : chosen;
}

std::optional<MissingShards> missing_siblings(const Folder& folder, const ShardName& name) {
  std::vector<u64> present;
  for (const std::string& file : folder.weights) {
    const std::optional<ShardName> other = shard_name(file);
    if (other && other->prefix == name.prefix && other->count == name.count && other->number >= 1 &&
        other->number <= name.count) {
      present.push_back(other->number);
    }
  }
  std::sort(present.begin(), present.end());
  present.erase(std::unique(present.begin(), present.end()), present.end());
  if (present.size() == name.count) return std::nullopt;
  u64 first = 1;
  for (const u64 number : present) {
    if (number != first) break;
    ++first;
  }
  return MissingShards{first, name.count - present.size()};
}

bool leaves_folder(const Folder& folder, const std::string& base_name) {
  std::error_code error;
  const std::filesystem::path file = folder.path + base_name;
  if (!std::filesystem::is_symlink(file, error)) return false;
  const std::filesystem::path target = std::filesystem::canonical(file, error);
  if (error) return false;
  const std::filesystem::path home = std::filesystem::canonical(folder.path.empty() ? "." : folder.path, error);
  if (error) return false;
  const auto [end_of_home, place] = std::mismatch(home.begin(), home.end(), target.begin(), target.end());
  return end_of_home != home.end();
}

}  // namespace modelutils::safetensors
