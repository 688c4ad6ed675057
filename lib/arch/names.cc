#include "arch/names.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "arch/stacks.h"

namespace modelutils::arch {

namespace {

// Removes a decimal number without leading zeros, and the dot after it, from the front of `text`.
std::optional<u64> take_number(std::string_view& text) {
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || digits == text.size() || *end != '.') return std::nullopt;
  if (digits > 1 && text.front() == '0') return std::nullopt;
  text.remove_prefix(digits + 1);
  return value;
}

// Replaces the expert number below a layer: "mlp.experts.7.w1" becomes "mlp.experts.#.w1". Returns the number, 7.
std::optional<u64> take_expert(std::string& pattern) {
  for (std::size_t dot = pattern.find('.'); dot != std::string::npos; dot = pattern.find('.', dot + 1)) {
    std::string_view rest = std::string_view(pattern).substr(dot + 1);
    const std::size_t before = rest.size();
    if (const std::optional<u64> number = take_number(rest)) {
      pattern.replace(dot + 1, before - rest.size() - 1, "#");
      return number;
    }
  }
  return std::nullopt;
}

constexpr std::string_view suffix_text(Side side) {
  return side == Side::weight ? ".weight" : ".bias";
}

}  // namespace

std::vector<SourceAlternative> parse_source(std::string_view source) {
  std::vector<SourceAlternative> alternatives;
  if (source.empty() || source.starts_with('=')) return alternatives;
  for_each_name(source, [&](std::string_view text) {
    SourceAlternative alternative;
    alternative.condition = take_condition(text);
    do {
      alternative.parts.push_back(source_part(take_part(text)));
    } while (!text.empty());
    alternatives.push_back(std::move(alternative));
  });
  return alternatives;
}

bool is_name_of_mlx(std::string_view module) {
  constexpr std::string_view own[] = {"switch_mlp", "switch_glu", "embed_q", "unembed_out"};
  return std::any_of(std::begin(own), std::end(own),
                     [&](std::string_view name) { return module.find(name) != std::string_view::npos; });
}

std::optional<LayerName> layer_name(std::string_view canonical, std::string_view prefix) {
  if (!canonical.starts_with(prefix)) return std::nullopt;
  std::string_view rest = canonical.substr(prefix.size());
  const std::optional<u64> layer = take_number(rest);
  return layer ? std::optional(LayerName{*layer, rest}) : std::nullopt;
}

std::optional<u64> block_of(std::string_view tensor) {
  constexpr u64 absurd = 1'000'000;
  const std::optional<LayerName> block = layer_name(tensor, "blk.");
  return block && block->layer <= absurd ? std::optional(block->layer) : std::nullopt;
}

std::string gguf_name(const Tensor& row, bool in_layer, u64 layer, Side side) {
  if (!in_layer) {
    if (row.name.starts_with('@')) return std::string(row.name.substr(1));
    return fmt::format("{}{}", row.name, suffix_text(side));
  }
  const std::string_view stack = stack_of(row);
  const std::string prefix = fmt::format("{}blk.{}.", stack, layer);
  if (row.name.starts_with('@')) return prefix + std::string(row.name.substr(1));
  return fmt::format("{}{}{}", prefix, row.name.substr(stack.size()), suffix_text(side));
}

Names::Names(const Family& family) : family_(&family) {
  for (const Tensor& row : family.first_tensors) add_row(row, false);
  for (const std::span<const Tensor> group : family.layer_tensors) {
    for (const Tensor& row : group) add_row(row, true);
  }
  for (const Tensor& row : family.prediction.tensors) add_row(row, true);
  for (const Tensor& row : family.last_tensors) add_row(row, false);
}

void Names::add_row(const Tensor& row, bool in_layer) {
  const bool is_complete = row.name.starts_with('@');
  const std::string below = in_layer ? "N." : "";
  std::vector<SourceAlternative> alternatives = parse_source(row.source);
  for (const Side side : {Side::weight, Side::bias}) {
    if (side == Side::bias && (is_complete || row.bias == Need::absent)) continue;
    const std::string_view suffix = is_complete ? std::string_view{} : suffix_text(side);
    std::string gguf = is_complete ? std::string(row.name.substr(1)) : std::string(row.name) + std::string(suffix);
    by_gguf_.try_emplace((in_layer ? "blk." : "") + std::move(gguf), Place{&row, std::nullopt, side});
    for (std::size_t a = 0; a < alternatives.size(); ++a) {
      for (std::size_t p = 0; p < alternatives[a].parts.size(); ++p) {
        const SourceUse use{&row, in_layer, side, a, p};
        std::string pattern = below + std::string(alternatives[a].parts[p].module);
        // transformers v5 saves stacks of experts without a suffix.
        if (!is_complete && side == Side::weight && pattern.find(".experts.") != std::string::npos) {
          by_pattern_[pattern].push_back(use);
        }
        by_pattern_[pattern + std::string(suffix)].push_back(use);
      }
    }
  }
  parsed_.emplace(&row, std::move(alternatives));
}

std::optional<SourceMatch> Names::match(std::string_view canonical) const {
  SourceMatch found;
  std::string pattern(canonical);
  for_each_name(family_->layer_prefixes, [&](std::string_view prefix) {
    const std::optional<LayerName> in_layer = found.layer ? std::nullopt : layer_name(canonical, prefix);
    if (!in_layer) return;
    found.layer = in_layer->layer;
    pattern = "N.";
    if (has_stacks(*family_)) pattern += prefix.substr(0, prefix.find('.') + 1);
    pattern += in_layer->rest;
  });
  auto at = by_pattern_.find(pattern);
  // A row outside the layers may have a source in one particular layer.
  if (at == by_pattern_.end() && found.layer) at = by_pattern_.find(std::string(canonical));
  if (at == by_pattern_.end()) {
    const std::string below = found.layer ? "N." : "";
    std::string numbered = pattern.substr(below.size());
    found.expert = take_expert(numbered);
    if (found.expert) at = by_pattern_.find(below + numbered);
  }
  if (at == by_pattern_.end()) return std::nullopt;
  found.uses = &at->second;
  return found;
}

namespace {

// Visits the name without its optional prefixes, one prefix less at a time, and then with "model.".
template <typename Visit>
void for_each_spelling(const Family& family, std::string_view canonical, Visit visit) {
  std::string_view name = canonical;
  for (bool has_prefix = true; has_prefix;) {
    if (visit(name)) return;
    has_prefix = false;
    for_each_name(family.outer_prefixes, [&](std::string_view prefix) {
      if (has_prefix || !name.starts_with(prefix)) return;
      name.remove_prefix(prefix.size());
      has_prefix = true;
    });
  }
  constexpr std::string_view base = "model.";
  if (!first_name(family.layer_prefixes).starts_with(base) || canonical.starts_with(base)) return;
  visit(std::string(base) + std::string(canonical));
}

// Returns the present name of a suffix that older files or parametrized modules have; empty for other names.
std::string with_usual_suffix(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> suffixes[] = {
      {".gamma", ".weight"}, {".beta", ".bias"}, {".parametrizations.weight.original", ".weight"}};
  for (const auto& [old, usual] : suffixes) {
    if (!name.ends_with(old)) continue;
    return std::string(name.substr(0, name.size() - old.size())) + std::string(usual);
  }
  return {};
}

}  // namespace

std::string Names::spelled(std::string_view canonical) const {
  const std::string usual = with_usual_suffix(canonical);
  std::string found;
  for (const std::string_view name : {canonical, std::string_view(usual)}) {
    if (name.empty() || !found.empty()) continue;
    for_each_spelling(*family_, name, [&](std::string_view spelling) {
      if (match(spelling)) found = spelling;
      return !found.empty();
    });
  }
  return found.empty() ? std::string(canonical) : found;
}

bool Names::leaves_out(std::string_view canonical) const {
  bool is_listed = false;
  for_each_spelling(*family_, canonical, [&](std::string_view spelling) {
    for_each_name(family_->left_out, [&](std::string_view part) {
      const bool is_anywhere = part.starts_with('*');
      is_listed = is_listed ||
                  (is_anywhere ? spelling.find(part.substr(1)) != std::string_view::npos : spelling.starts_with(part));
    });
    return is_listed;
  });
  return is_listed;
}

std::optional<std::string> Names::gguf_tensor(std::string_view canonical) const {
  const std::optional<SourceMatch> found = match(canonical);
  if (!found || found->expert) return std::nullopt;
  const SourceUse* use = nullptr;
  for (const SourceUse& other : *found->uses) {
    // Sources with the condition "back" only serve conversion from GGUF.
    if (alternatives(*other.row)[other.alternative].condition.starts_with("back")) continue;
    // Rows of one name differ in the layers that they are for.
    if (use != nullptr && other.row->name != use->row->name) return std::nullopt;
    if (use == nullptr) use = &other;
  }
  if (use == nullptr || alternatives(*use->row)[use->alternative].parts.size() != 1) return std::nullopt;
  return gguf_name(*use->row, use->in_layer, found->layer.value_or(0), use->side);
}

Names::Place Names::find_gguf(std::string_view gguf_name) const {
  Place place;
  std::string_view rest = gguf_name;
  constexpr std::string_view in_stack = "enc.blk.";  // as long as "dec.blk."
  std::string name;
  if (has_stacks(*family_) && rest.size() > in_stack.size() && rest.substr(3).starts_with(".blk.")) {
    name = "blk." + std::string(rest.substr(0, 4));
    rest.remove_prefix(in_stack.size());
    place.layer = take_number(rest);
    if (!place.layer) return {};
  } else if (rest.starts_with("blk.")) {
    const std::optional<LayerName> block = layer_name(rest, "blk.");
    if (!block) return {};
    name = "blk.";
    place.layer = block->layer;
    rest = block->rest;
  }
  name += rest;
  const auto found = by_gguf_.find(name);
  if (found == by_gguf_.end()) return {};
  place.row = found->second.row;
  place.side = found->second.side;
  return place;
}

std::optional<std::string> Names::source_tensor(std::string_view gguf_name) const {
  const Place place = find_gguf(gguf_name);
  if (place.row == nullptr) return std::nullopt;
  for (const SourceAlternative& alternative : alternatives(*place.row)) {
    if (!alternative.condition.empty() || alternative.parts.size() != 1 || alternative.parts[0].is_stacked()) continue;
    const bool is_complete = place.row->name.starts_with('@');
    const std::string_view module = alternative.parts[0].module;
    std::string name =
        place.layer ? module_in_layer(*place.row, family_->layer_prefixes, *place.layer, module) : std::string(module);
    if (!is_complete) name += suffix_text(place.side);
    if (gguf_tensor(name) == gguf_name) return name;  // otherwise the tensor is only part of its source
  }
  return std::nullopt;
}

std::optional<u64> Names::layer_of(std::string_view canonical) const {
  std::optional<u64> layer;
  for_each_name(family_->layer_prefixes, [&](std::string_view prefix) {
    const std::optional<LayerName> in_layer = layer ? std::nullopt : layer_name(canonical, prefix);
    if (in_layer) layer = in_layer->layer;
  });
  return layer;
}

}  // namespace modelutils::arch
