#include "arch/sizes.h"

#include <algorithm>

#include "arch/stacks.h"

namespace modelutils::arch {

namespace {

// Looks up symbols in one layer.
struct InLayer {
  const Sizes& sizes;
  u64 layer;
  bool unknown_is_zero;
  std::string_view assumed = {};  // the symbol to solve for
  u64 assumed_value = 0;

  std::optional<u64> operator()(std::string_view name) const {
    if (name == "i") return layer;
    if (!assumed.empty() && name == assumed) return assumed_value;
    const std::optional<u64> found = sizes.find(name, layer);
    return found || !unknown_is_zero ? found : std::optional<u64>(0);
  }
};

std::optional<u64> value_of(std::string_view text, const InLayer& lookup) {
  return Expression(text, lookup).value();
}

}  // namespace

u64 largest_size(std::string_view symbol) {
  constexpr u64 max_width = u64{1} << 31;
  if (symbol == symbol::layers || symbol == symbol::decoder_layers) return max_layers;
  return symbol == symbol::experts || symbol == symbol::experts_used ? max_experts : max_width;
}

void Sizes::set(std::string_view symbol, u64 value) {
  set_layers(symbol, {value});
}

void Sizes::set_layers(std::string_view symbol, std::vector<u64> values) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.symbol == symbol; });
  if (found != entries_.end()) {
    found->values = std::move(values);
  } else {
    entries_.push_back({std::string(symbol), std::move(values)});
  }
}

const std::vector<u64>& Sizes::values(std::string_view symbol) const {
  static const std::vector<u64> none;
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.symbol == symbol; });
  return found == entries_.end() ? none : found->values;
}

void Sizes::settle(std::string_view symbol) {
  std::vector<u64> all = values(symbol);
  if (all.size() < 2) return;
  std::replace(all.begin(), all.end(), unknown, u64{0});
  const u64 first = all.front();
  if (std::all_of(all.begin(), all.end(), [&](u64 value) { return value == first; })) return set(symbol, first);
  set_layers(symbol, std::move(all));
}

std::optional<u64> Sizes::find(std::string_view symbol, u64 layer) const {
  const std::vector<u64>& all = values(symbol);
  if (all.size() == 1) return all.front();
  if (layer >= all.size() || all[static_cast<std::size_t>(layer)] == unknown) return std::nullopt;
  return all[static_cast<std::size_t>(layer)];
}

std::optional<u64> evaluate(std::string_view expression, const Sizes& sizes, u64 layer) {
  return value_of(expression, {sizes, layer, false});
}

bool holds(std::string_view condition, const Sizes& sizes, u64 layer) {
  return condition.empty() || value_of(condition, {sizes, layer, true}).value_or(0) != 0;
}

std::vector<std::string_view> unknown_symbols(std::string_view expression, const Sizes& sizes, u64 layer) {
  std::vector<std::string_view> unknown;
  for (std::size_t at = 0; at < expression.size();) {
    std::size_t end = at;
    while (end < expression.size() && (is_letter(expression[end]) || is_digit(expression[end]))) ++end;
    const std::string_view name = expression.substr(at, end - at);
    at = end + (end == at ? 1 : 0);
    if (name.empty() || is_digit(name.front()) || name == "i" || sizes.find(name, layer)) continue;
    if (std::find(unknown.begin(), unknown.end(), name) == unknown.end()) unknown.push_back(name);
  }
  return unknown;
}

std::optional<u64> solve(std::string_view expression, std::string_view unknown, u64 value, const Sizes& sizes,
                         u64 layer) {
  const auto at = [&](u64 assumed) { return value_of(expression, {sizes, layer, false, unknown, assumed}); };
  // Draw a line through two points. If it also fits `value`, the expression is linear as far as needed.
  const std::optional<u64> zero = at(0);
  const std::optional<u64> one = at(1);
  if (!zero || !one || *one <= *zero || value < *zero || (value - *zero) % (*one - *zero) != 0) return std::nullopt;
  const u64 solution = (value - *zero) / (*one - *zero);
  return at(solution) == value ? std::optional(solution) : std::nullopt;
}

std::vector<std::string_view> dimensions_of(std::string_view shape) {
  std::vector<std::string_view> dimensions;
  while (!shape.empty()) {
    const std::size_t comma = shape.find(',');
    dimensions.push_back(shape.substr(0, comma));
    shape.remove_prefix(comma == std::string_view::npos ? shape.size() : comma + 1);
  }
  return dimensions;
}

std::optional<std::vector<u64>> evaluate_shape(std::string_view shape, const Sizes& sizes, u64 layer) {
  std::vector<u64> ne;
  for (const std::string_view dimension : dimensions_of(shape)) {
    const std::optional<u64> value = evaluate(dimension, sizes, layer);
    if (!value) return std::nullopt;
    ne.push_back(*value);
  }
  return ne;
}

}  // namespace modelutils::arch
