#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/name_index.h"
#include "base/not_found.h"
#include "base/text.h"
#include "edit/safetensors/edited_set.h"

namespace modelutils::to_safetensors {

namespace {

// True if an entry of the metadata says that tensor `key`, which is not stored, shares the elements of `value`.
bool is_shared_entry(const std::pair<std::string, std::string>& entry, const std::set<std::string_view>& stored) {
  return stored.count(entry.second) != 0 && stored.count(entry.first) == 0;
}

std::set<std::string_view> names_of(const EditedSet& set) {
  std::set<std::string_view> names;
  for (const EditedTensor& tensor : set.tensors) names.insert(tensor.name);
  return names;
}

tl::unexpected<Error> matches_nothing(const EditedSet& set, const StOperation& operation, std::string_view pattern) {
  ClosestName closest(pattern);
  for (const EditedTensor& tensor : set.tensors) closest.offer(tensor.name);
  return no_match_error(fmt::format("{} '{}'", operation.where(), pattern),
                        "matches no tensor" + closest.hint("; st-dump lists them"), set.report.input);
}

// The number of bytes that a pattern without stars matches.
std::size_t length_of(std::string_view pattern) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i, ++length) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      ++i;
    } else if (pattern[i] == '[') {
      const std::size_t end = pattern.find(']', i + 2);
      if (end != pattern.npos) i = end;
    }
  }
  return length;
}

// Splits at the stars that are not escaped or in a class.
std::vector<std::string_view> split_at_stars(std::string_view pattern) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '[') {
      const std::size_t end = pattern.find(']', i + 2);
      if (end != pattern.npos) i = end;
    } else if (pattern[i] == '*') {
      parts.push_back(pattern.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  parts.push_back(pattern.substr(begin));
  return parts;
}

// Returns the name with the stars of `pattern` filled in.
std::string filled(std::string_view pattern, const std::vector<std::string_view>& captured) {
  std::string name;
  std::size_t next = 0;
  for (const char c : pattern) {
    if (c == '*') {
      name += captured[next++];
    } else {
      name += c;
    }
  }
  return name;
}

using NewName = std::function<std::optional<std::string>(std::string_view name)>;

// Names that change: the operation's own matches, and the parts of quantised weights whose codes match.
Status change_names(EditedSet& set, const StOperation& operation, const NewName& change) {
  std::vector<std::optional<std::string>> own;
  bool is_any = false;
  for (const EditedTensor& tensor : set.tensors) {
    own.push_back(change(tensor.name));
    is_any = is_any || own.back();
  }
  if (!is_any) return matches_nothing(set, operation, operation.operand.substr(0, operation.operand.find('=')));
  const std::vector<std::size_t> places = set.places();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < set.tensors.size(); ++i) {
    const EditedTensor& tensor = set.tensors[i];
    const std::size_t codes = set.followers.leader[tensor.origin];
    const std::size_t leader = codes == no_place ? no_place : places[codes];
    if (own[i] || leader == no_place || !own[leader]) {
      names.push_back(own[i].value_or(tensor.name));
      continue;
    }
    const std::string& before = set.tensors[leader].name;
    const std::string_view original = set.model.catalog().tensors[codes].name;
    const std::string_view ending = original.substr(std::min(set.followers.module_end[codes], original.size()));
    const std::string& after = *own[leader];
    const std::string module = before.substr(0, before.size() - std::min(ending.size(), before.size()));
    if (!before.ends_with(ending) || !after.ends_with(ending) || !tensor.name.starts_with(module)) {
      return input_error("edit-scales",
                         fmt::format("{}: '{}' is a part of the quantised weight '{}', whose new name must end in '{}'",
                                     operation.where(), tensor.name, before, ending),
                         at_tensor(before));
    }
    names.push_back(after.substr(0, after.size() - ending.size()) + tensor.name.substr(module.size()));
  }
  // Tensors that only the metadata names.
  const std::set<std::string_view> stored = names_of(set);
  for (std::size_t file = 0; file < set.metadata.size(); ++file) {
    for (auto& entry : set.metadata[file]) {
      if (!is_shared_entry(entry, stored)) continue;
      const std::optional<std::string> name = change(entry.first);
      if (!name) continue;
      entry.first = *name;
      set.is_metadata_changed[file] = true;
    }
  }
  rename_tensors(set, std::move(names));
  return {};
}

Status select(EditedSet& set, const StOperation& operation, const std::vector<std::string>& globs, bool keeps) {
  const auto matches = [&](std::string_view name) {
    return std::ranges::any_of(globs, [&](const std::string& glob) { return glob_match(glob, name); });
  };
  for (const std::string& glob : globs) {
    const bool is_used =
        std::ranges::any_of(set.tensors, [&](const EditedTensor& tensor) { return glob_match(glob, tensor.name); });
    if (!is_used) return matches_nothing(set, operation, glob);
  }
  const std::vector<std::size_t> places = set.places();
  std::vector<bool> is_dropped;
  for (const EditedTensor& tensor : set.tensors) {
    const std::size_t codes = set.followers.leader[tensor.origin];
    const bool follows = codes != no_place && places[codes] != no_place && matches(set.tensors[places[codes]].name);
    is_dropped.push_back((matches(tensor.name) || follows) != keeps);
  }
  if (std::ranges::all_of(is_dropped, [](bool dropped) { return dropped; })) {
    return no_match_error(operation.where(), "leaves no tensor", set.report.input);
  }
  const std::set<std::string_view> stored = names_of(set);
  for (std::size_t file = 0; file < set.metadata.size(); ++file) {
    const auto removed = std::erase_if(set.metadata[file], [&](const auto& entry) {
      return is_shared_entry(entry, stored) && matches(entry.first) != keeps;
    });
    if (removed > 0) set.is_metadata_changed[file] = true;
  }
  drop_tensors(set, is_dropped);
  return {};
}

}  // namespace

std::optional<std::vector<std::string_view>> match_stars(std::string_view pattern, std::string_view text) {
  const std::vector<std::string_view> parts = split_at_stars(pattern);
  if (parts.size() == 1)
    return glob_match(pattern, text) ? std::optional(std::vector<std::string_view>()) : std::nullopt;
  const std::size_t first = length_of(parts.front()), last = length_of(parts.back());
  if (text.size() < first + last || !glob_match(parts.front(), text.substr(0, first)) ||
      !glob_match(parts.back(), text.substr(text.size() - last))) {
    return std::nullopt;
  }
  std::vector<std::string_view> captured;
  std::size_t at = first;
  const std::size_t end = text.size() - last;
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    const std::size_t length = length_of(parts[i]);
    std::size_t found = at;
    while (found + length <= end && !glob_match(parts[i], text.substr(found, length))) ++found;
    if (found + length > end) return std::nullopt;
    captured.push_back(text.substr(at, found - at));
    at = found + length;
  }
  captured.push_back(text.substr(at, end - at));
  return captured;
}

void rename_tensors(EditedSet& set, std::vector<std::string> names) {
  NameIndex places;
  for (const EditedTensor& tensor : set.tensors) places.insert(tensor.name);
  // Names may repeat until the end of all operations; then the index has fewer numbers than there are tensors.
  const bool is_unique = places.size() == set.tensors.size();
  for (std::size_t file = 0; is_unique && file < set.metadata.size(); ++file) {
    for (auto& [key, value] : set.metadata[file]) {
      const std::optional<u32> tensor = places.find(value);
      if (!tensor || names[*tensor] == value || places.find(key)) continue;
      value = names[*tensor];
      set.is_metadata_changed[file] = true;
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) set.tensors[i].name = std::move(names[i]);
}

void drop_tensors(EditedSet& set, const std::vector<bool>& is_dropped) {
  std::set<std::string_view> gone, stored = names_of(set);
  for (std::size_t i = 0; i < is_dropped.size(); ++i) {
    if (is_dropped[i]) gone.insert(set.tensors[i].name);
  }
  for (std::size_t file = 0; file < set.metadata.size(); ++file) {
    const auto removed = std::erase_if(set.metadata[file], [&](const auto& entry) {
      return is_shared_entry(entry, stored) && gone.count(entry.second) != 0;
    });
    if (removed > 0) set.is_metadata_changed[file] = true;
  }
  std::vector<EditedTensor> kept;
  for (std::size_t i = 0; i < is_dropped.size(); ++i) {
    if (!is_dropped[i]) kept.push_back(std::move(set.tensors[i]));
  }
  set.tensors = std::move(kept);
}

Status edit_names(EditedSet& set, const StOperation& operation, const std::vector<std::string>& also_kept) {
  const std::string& operand = operation.operand;
  switch (operation.action) {
    case StAction::keep: {
      std::vector<std::string> globs = also_kept;
      globs.insert(globs.begin(), operand);
      return select(set, operation, globs, true);
    }
    case StAction::drop: return select(set, operation, {operand}, false);
    case StAction::rename: {
      MU_ASSIGN(const OldNew names, split_operand(operation));
      const std::size_t stars = split_at_stars(names.left).size() - 1;
      if (static_cast<std::size_t>(std::ranges::count(names.right, '*')) > stars || names.right.empty()) {
        return usage_error(fmt::format("--rename '{}': NEW must be a name with at most as many * as OLD", operand));
      }
      return change_names(set, operation, [&](std::string_view name) -> std::optional<std::string> {
        const auto captured = match_stars(names.left, name);
        return captured ? std::optional(filled(names.right, *captured)) : std::nullopt;
      });
    }
    case StAction::strip_prefix:
      return change_names(set, operation, [&](std::string_view name) -> std::optional<std::string> {
        if (operand.empty() || !name.starts_with(operand) || name.size() == operand.size()) return std::nullopt;
        return std::string(name.substr(operand.size()));
      });
    case StAction::add_prefix:
      return change_names(set, operation, [&](std::string_view name) -> std::optional<std::string> {
        return operand + std::string(name);
      });
    default: return internal_error("not an operation on names");
  }
}

Status edit_metadata(EditedSet& set, const StOperation& operation) {
  if (operation.action == StAction::set) {
    MU_ASSIGN(const OldNew pair, split_operand(operation));
    for (std::size_t file = 0; file < set.metadata.size(); ++file) {
      safetensors::OutMetadata& metadata = set.metadata[file];
      const auto same = std::ranges::find(metadata, pair.left, &std::pair<std::string, std::string>::first);
      if (same != metadata.end() && same->second == pair.right) continue;
      if (same == metadata.end()) {
        metadata.emplace_back(pair.left, pair.right);
      } else {
        same->second = pair.right;
      }
      set.is_metadata_changed[file] = true;
    }
    return {};
  }
  bool is_any = false;
  for (std::size_t file = 0; file < set.metadata.size(); ++file) {
    const auto removed = std::erase_if(set.metadata[file],
                                       [&](const auto& entry) { return glob_match(operation.operand, entry.first); });
    if (removed == 0) continue;
    set.is_metadata_changed[file] = is_any = true;
  }
  if (is_any) return {};
  return no_match_error(fmt::format("{} '{}'", operation.where(), operation.operand), "matches no key of __metadata__",
                        set.report.input);
}

}  // namespace modelutils::to_safetensors
