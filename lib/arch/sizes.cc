#include "arch/sizes.h"

#include <algorithm>

#include "base/checked_math.h"

namespace modelutils::arch {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

// Recursive descent over an expression of a row: our own text, so its depth is bounded by what we wrote.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Sizes& sizes, u64 layer, bool unknown_is_zero)
      : text_(text), sizes_(sizes), layer_(layer), unknown_is_zero_(unknown_is_zero) {}

  std::optional<u64> value() {
    const u64 result = either();
    return failed_ || at_ != text_.size() ? std::nullopt : std::optional(result);
  }
  /// One value that a symbol has while solving.
  void assume(std::string_view symbol, u64 value) {
    assumed_ = symbol;
    assumed_value_ = value;
  }

 private:
  bool take(std::string_view token) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  u64 checked(std::optional<u64> value) {
    failed_ = failed_ || !value;
    return value.value_or(0);
  }

  u64 either() {
    u64 left = both();
    while (take("|")) left = static_cast<u64>(both() != 0) | static_cast<u64>(left != 0);
    return left;
  }
  u64 both() {
    u64 left = comparison();
    while (take("&")) left = static_cast<u64>(comparison() != 0) & static_cast<u64>(left != 0);
    return left;
  }
  u64 comparison() {
    const u64 left = sum();
    if (take(">=")) return left >= sum();
    if (take("==")) return left == sum();
    if (take("!=")) return left != sum();
    if (take("<")) return left < sum();
    return left;
  }
  u64 sum() {
    u64 left = product();
    while (true) {
      if (take("+")) {
        left = checked(checked_add(left, product()));
      } else if (take("-")) {
        const u64 right = product();
        left = checked(right > left ? std::nullopt : std::optional(left - right));
      } else {
        return left;
      }
    }
  }
  u64 product() {
    u64 left = factor();
    while (true) {
      if (take("*")) {
        left = checked(checked_mul(left, factor()));
      } else if (take("/")) {
        const u64 right = factor();
        left = checked(right == 0 ? std::nullopt : std::optional(left / right));
      } else if (take("%")) {
        const u64 right = factor();
        left = checked(right == 0 ? std::nullopt : std::optional(left % right));
      } else {
        return left;
      }
    }
  }
  u64 factor() {
    if (take("(")) {
      const u64 inner = either();
      failed_ = !take(")") || failed_;
      return inner;
    }
    if (take("!")) return factor() == 0;
    std::size_t end = at_;
    if (end < text_.size() && is_digit(text_[end])) {
      u64 number = 0;
      while (end < text_.size() && is_digit(text_[end])) number = number * 10 + static_cast<u64>(text_[end++] - '0');
      at_ = end;
      return number;
    }
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    failed_ = failed_ || name.empty();
    at_ = end;
    return lookup(name);
  }
  u64 lookup(std::string_view name) {
    if (name == "i") return layer_;
    if (name == assumed_) return assumed_value_;
    const std::optional<u64> found = sizes_.find(name, layer_);
    return found || unknown_is_zero_ ? found.value_or(0) : checked(std::nullopt);
  }

  std::string_view text_;
  const Sizes& sizes_;
  u64 layer_;
  bool unknown_is_zero_;
  std::string_view assumed_;
  u64 assumed_value_ = 0;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace

u64 largest_size(std::string_view symbol) {
  constexpr u64 max_width = u64{1} << 31;
  if (symbol == symbol::layers) return max_layers;
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
  return Evaluator(expression, sizes, layer, false).value();
}

bool holds(std::string_view condition, const Sizes& sizes, u64 layer) {
  return condition.empty() || Evaluator(condition, sizes, layer, true).value().value_or(0) != 0;
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
  const auto at = [&](u64 assumed) {
    Evaluator evaluator(expression, sizes, layer, false);
    evaluator.assume(unknown, assumed);
    return evaluator.value();
  };
  // A line through two points; that it fits the value shows that the expression is one.
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
