#include "convert/to_gguf/tower_sources.h"

#include <fmt/core.h>

#include <algorithm>

#include "arch/key_writer.h"
#include "base/text.h"
#include "base/types.h"

namespace modelutils {

namespace {

// Returns the prefixes of a root.
std::vector<std::string_view> root_prefixes(std::string_view text) {
  std::vector<std::string_view> prefixes;
  for (const arch::TowerPrefix& prefix : arch::tower_prefixes(text)) prefixes.push_back(prefix.text);
  return prefixes;
}

std::string list_of(const std::vector<std::string_view>& prefixes) {
  std::string list;
  for (const std::string_view prefix : prefixes) list += fmt::format("{}'{}'", list.empty() ? "" : ", ", prefix);
  return list;
}

// Adds the equations that follow from the stored shape of a tensor whose elements are reordered, unless a dimension
// that is known contradicts it: then the directory has another layout.
void add_stored_facts(const arch::TowerTensor& tensor, std::span<const u64> shape, const arch::Sizes& sizes,
                      std::vector<arch::ShapeFact>& facts) {
  for_each_name(tensor.row->stored, [&](std::string_view text) {
    const std::string_view condition = arch::take_condition(text);
    const std::vector<std::string_view> stored = arch::dimensions_of(arch::trimmed(text));
    if (!arch::holds(condition, sizes, tensor.layer) || stored.size() != shape.size()) return;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const bool is_known = arch::unknown_symbols(stored[d], sizes, tensor.layer).empty();
      if (is_known && arch::evaluate(stored[d], sizes, tensor.layer) != shape[d]) return;
    }
    for (std::size_t d = 0; d < shape.size(); ++d) {
      facts.push_back({std::string(stored[d]), shape[d], tensor.layer});
    }
  });
}

// Returns the prefixes of the directory's names, for messages: "model.language_model., extra.tower.".
std::string beginnings(const std::vector<std::string_view>& names) {
  constexpr std::size_t most = 6;
  std::vector<std::string> found;
  for (const std::string_view name : names) {
    std::size_t end = name.find('.');
    if (const std::size_t second = end == std::string_view::npos ? end : name.find('.', end + 1);
        second != std::string_view::npos) {
      end = second;
    }
    std::string beginning(name.substr(0, end == std::string_view::npos ? name.size() : end + 1));
    if (std::ranges::find(found, beginning) != found.end()) continue;
    if (found.size() == most) {
      found.emplace_back("…");
      break;
    }
    found.push_back(std::move(beginning));
  }
  std::string list;
  for (const std::string& each : found) list += (list.empty() ? "" : ", ") + each;
  return list;
}

}  // namespace

Result<TowerRoots> find_roots(const arch::ProjectorFamily& family, const std::vector<std::string_view>& names,
                              const std::string& directory) {
  TowerRoots roots;
  for (const std::string_view text : family.roots) {
    const std::vector<std::string_view> root = root_prefixes(text);
    std::vector<std::string_view> found;
    for (const std::string_view prefix : root) {
      const bool is_used = std::ranges::any_of(names, [&](std::string_view name) { return name.starts_with(prefix); });
      if (is_used) found.push_back(prefix);
    }
    // "vision_tower." is also a prefix of "vision_tower.vision_model.".
    const std::vector<std::string_view> all = found;
    std::erase_if(found, [&](std::string_view prefix) {
      return std::ranges::any_of(all,
                                 [&](std::string_view other) { return other != prefix && other.starts_with(prefix); });
    });
    if (found.size() > 1) {
      return input_error("convert-projector",
                         fmt::format("has a {} tower under two names, {}: leave one of them in the directory",
                                     family.encoder, list_of(found)),
                         {}, {}, directory);
    }
    if (found.empty() && !text.starts_with('?')) {
      return input_error("convert-projector",
                         fmt::format("has no tensor of the {} tower: names would begin with {}, but they begin with {}",
                                     family.encoder, list_of(root), beginnings(names)),
                         {}, {}, directory);
    }
    roots.push_back(found.empty() ? std::nullopt : std::optional(std::string(found.front())));
  }
  return roots;
}

TowerSources::TowerSources(const HfModel& model, const std::map<std::string_view, std::size_t>& names,
                           const arch::ProjectorFamily& family, const hf::Config& config, TowerRoots roots)
    : model_(model), names_(names), family_(family), config_(config), roots_(std::move(roots)) {
  for (std::size_t i = 0; i < model.matrices.size(); ++i) places_.push_back({{0, i}});
}

tl::unexpected<Error> TowerSources::refuse(std::string_view field, std::string message) const {
  return input_error("convert-config", std::move(message), std::string(arch::stated_field(config_, field)), {},
                     model_.directory);
}

const std::vector<arch::SourceAlternative>& TowerSources::alternatives(const arch::Tensor& row) const {
  const auto [at, is_new] = parsed_.try_emplace(&row);
  if (is_new) at->second = arch::parse_source(row.source);
  return at->second;
}

// Returns the prefix that the directory uses, or else the first whose condition holds.
std::string_view TowerSources::group_prefix(const arch::ProjectorGroup& group) const {
  const std::optional<std::string>& root = roots_[static_cast<std::size_t>(group.root)];
  for (const arch::TowerPrefix& prefix : arch::tower_prefixes(group.source)) {
    const std::string start = root.value_or("") + std::string(prefix.text.substr(0, prefix.text.find('#')));
    const auto at = names_.lower_bound(start);
    if (root && at != names_.end() && at->first.starts_with(start)) return prefix.text;
  }
  return arch::written_prefix(group.source, model_.is_mlx);
}

std::vector<u64> TowerSources::numbers_of(const arch::ProjectorGroup& group, const arch::Sizes& sizes) const {
  if (group.numbers != nullptr) return group.numbers(config_, sizes);
  std::vector<u64> numbers;
  const u64 count = group.count.empty() ? 1 : arch::evaluate(group.count, sizes).value_or(0);
  for (u64 i = 0; i < std::min(count, arch::max_layers); ++i) numbers.push_back(i);
  return numbers;
}

std::string TowerSources::full_name(const arch::TowerTensor& tensor, const arch::SourcePart& part) const {
  std::string name = tensor.prefix + std::string(part.module);
  if (tensor.row->name.starts_with('@')) return name;
  return name + (tensor.side == arch::Side::weight ? ".weight" : ".bias");
}

Result<std::vector<arch::TowerTensor>> TowerSources::expected(const arch::Sizes& sizes) const {
  std::vector<arch::TowerTensor> all;
  std::size_t number = 0;
  for (const arch::ProjectorGroup& group : family_.groups) {
    const std::optional<std::string>& root = roots_[static_cast<std::size_t>(group.root)];
    const std::vector<u64> numbers = numbers_of(group, sizes);
    const std::string_view prefix = group_prefix(group);
    for (arch::TowerTensor& tensor : arch::tower_tensors(group, number, numbers, sizes)) {
      if (!root && tensor.need == arch::Need::optional) continue;
      const std::string_view text =
          root ? std::string_view(*root) : arch::written_prefix(*(family_.roots.begin() + group.root), model_.is_mlx);
      tensor.prefix = std::string(text) + arch::numbered(prefix, tensor.layer);
      all.push_back(std::move(tensor));
    }
    ++number;
  }
  return all;
}

TowerSources::Found TowerSources::find(const arch::TowerTensor& tensor, const arch::Sizes& sizes) const {
  for (const arch::SourceAlternative& alternative : alternatives(*tensor.row)) {
    if (!arch::holds(alternative.condition, sizes, tensor.layer)) continue;
    Found found{&alternative, {}};
    for (const arch::SourcePart& part : alternative.parts) {
      const auto at = names_.find(full_name(tensor, part));
      if (at == names_.end()) break;
      found.parts.push_back(&places_[at->second]);
    }
    if (found.parts.size() == alternative.parts.size()) return found;
  }
  return {};
}

std::string TowerSources::source_name(const arch::TowerTensor& tensor, const arch::Sizes& sizes) const {
  for (const arch::SourceAlternative& alternative : alternatives(*tensor.row)) {
    if (arch::holds(alternative.condition, sizes, tensor.layer)) return full_name(tensor, alternative.parts.front());
  }
  return tensor.prefix;
}

std::optional<u64> TowerSources::stated(const arch::Key& key) const {
  if (key.fields.empty()) return std::nullopt;
  if (const auto size = arch::stated_size(config_, key)) return size;
  // Images and patches may have two sides, of which llama.cpp's converter takes the first.
  const auto field = key.symbol == "I" || key.symbol == "P" ? config_.field(key.fields) : std::nullopt;
  json::Array sides;
  u64 first = 0;
  const bool is_list = field && field->get(sides) && sides.size() > 0 && sides.at(0)->get(first);
  return is_list && first <= ~u32{0} ? std::optional(first) : std::nullopt;
}

void TowerSources::add_facts(const arch::Sizes& sizes, std::vector<arch::ShapeFact>& facts) const {
  const auto tensors = expected(sizes);
  if (!tensors) return;
  for (const arch::TowerTensor& tensor : *tensors) {
    if (tensor.side == arch::Side::bias) continue;
    const Found found = find(tensor, sizes);
    for (std::size_t i = 0; i < found.parts.size(); ++i) {
      const Weight& matrix = model_.matrices[found.parts[i]->begin()->second];
      const arch::SourcePart& part = found.alternative->parts[i];
      arch::add_shape_facts(*tensor.row, tensor.side, part, found.parts.size() == 1, reversed(matrix.ne), 1,
                            tensor.layer, facts);
      if (part.is_of_elements) add_stored_facts(tensor, reversed(matrix.ne), sizes, facts);
    }
  }
}

void TowerSources::solve_from_shapes(arch::Sizes& sizes) const {
  std::vector<arch::ShapeFact> facts;
  add_facts(sizes, facts);
  for (bool more = true; more;) {
    more = false;
    for (const arch::ShapeFact& fact : facts) {
      const std::vector<std::string_view> unknown = arch::unknown_symbols(fact.expression, sizes, fact.layer);
      if (unknown.size() != 1) continue;
      const std::optional<u64> value = arch::solve(fact.expression, unknown.front(), fact.value, sizes, fact.layer);
      if (!value || *value == 0) continue;
      sizes.set(std::string(unknown.front()), *value);
      more = true;
    }
  }
}

Result<arch::Sizes> TowerSources::solve(arch::Sizes sizes) {
  MU_TRY(arch::check_stated_sizes(family_.rows, config_));
  const std::vector<const arch::Key*> keys = arch::keys_of(family_.rows);
  const auto is_open = [&](const arch::Key& key) { return !key.symbol.empty() && sizes.values(key.symbol).empty(); };
  for (const arch::Key* key : keys) {
    if (!is_open(*key)) continue;
    if (const auto value = stated(*key)) {
      sizes.set(key->symbol, *value);
    } else if (!key->fields.empty() && key->derive == nullptr && config_.field(key->fields)) {
      // Taken for missing, it would be replaced by a class's default.
      return refuse(key->fields, "is neither a whole number nor a list of equal ones");
    }
  }
  const auto derive = [&] {
    for (const arch::Key* key : keys) {
      if (!is_open(*key) || key->derive == nullptr) continue;
      const std::optional<u64> value = key->derive(config_, sizes);
      // Sizes that depend on unknown ones are 0 at first.
      if (value && (*value > 0 || key->fallback == "0")) sizes.set(key->symbol, *value);
    }
  };
  derive();
  solve_from_shapes(sizes);
  derive();
  for (const arch::Key* key : keys) {
    if (!is_open(*key) || key->fallback.empty()) continue;
    if (const auto value = arch::evaluate(key->fallback, sizes)) {
      sizes.set(key->symbol, *value);
      solve_from_shapes(sizes);
    }
  }
  derive();
  solve_from_shapes(sizes);
  for (const arch::Key* key : keys) {
    if (!is_open(*key) || key->missing != arch::Missing::refuse) continue;
    return refuse(key->fields.empty() ? key->name : key->fields,
                  "is missing, and cannot be derived from anything else");
  }
  constexpr u64 largest_image = 8192;
  if (const u64 image = sizes.get("I"); image > largest_image) {
    return refuse("vision_config.image_size", fmt::format("is {}, at most {} are supported", image, largest_image));
  }
  constexpr u64 most_bins = 256;
  if (const u64 bins = sizes.get("Mb"); bins > most_bins) {
    return refuse("audio_config.num_mel_bins", fmt::format("is {}, at most {} are supported", bins, most_bins));
  }
  for (const auto& [symbol, field] : {std::pair<std::string_view, std::string_view>{"P", "vision_config.patch_size"},
                                      {"M", "vision_config.spatial_merge_size"},
                                      {"S", "scale_factor"},
                                      {"L", "vision_config.num_hidden_layers"},
                                      {"H", "vision_config.num_attention_heads"}}) {
    if (!sizes.values(symbol).empty() && sizes.get(symbol) == 0) {
      std::string_view fields = field;
      for (const arch::Key* key : keys) {
        if (key->symbol == symbol && !key->fields.empty()) fields = key->fields;
      }
      return refuse(fields, "is 0; it must be at least 1");
    }
  }
  for (const arch::Relation& relation : family_.rows.relations) {
    if (arch::evaluate(relation.left, sizes) == arch::evaluate(relation.right, sizes)) continue;
    return refuse(relation.field, std::string(relation.because));
  }
  return sizes;
}

}  // namespace modelutils
