#include "template/constants.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "template/constant_values.h"

namespace modelutils::jinja {

namespace {

constexpr u32 most_names_deep = 8;
constexpr std::string_view unknown_text(&unknown_piece, 1);

const Expression* argument(const ArgumentList& arguments, std::size_t index) {
  return index < arguments.positional.size() ? arguments.positional[index] : nullptr;
}

}  // namespace

Constants::~Constants() = default;

Constants::Constants(const Body& body) {
  collect(body);
  const auto sole_value = [this](std::string_view name) -> const Expression* {
    const auto found = bindings_.find(name);
    if (found == bindings_.end() || found->second.values.size() != 1 || !found->second.bodies.empty()) return nullptr;
    return found->second.values.front();
  };
  values_ = std::make_unique<ConstantValues>(sole_value, [this](std::string_view name) { return is_bound(name); });
  // In the order of the text a chain of names is never followed far.
  for (const std::string& name : order_) of_name(name);
}

Value Constants::value(const Expression& expression) {
  return values_->of(expression);
}

bool Constants::is_exhausted() const {
  return values_->is_exhausted();
}

const FunctionBody* Constants::macro(std::string_view name) const {
  const auto found = macros_.find(name);
  return found == macros_.end() ? nullptr : found->second;
}

Texts Constants::texts(const Expression* expression) {
  if (expression == nullptr) return nothing_known();
  const auto found = known_.find(expression);
  if (found != known_.end()) return found->second;
  known_[expression] = nothing_known();  // for what refers to itself
  // First the one that the evaluator makes, then those that it may be by another way.
  Texts result;
  if (const Value value = values_->of(*expression); value.is(Kind::text) && value.view() != unknown_text) {
    add_text(result, std::string(value.view()));
  }
  for (std::string& text : made(*expression)) {
    if (result.empty() || text != unknown_text) add_text(result, std::move(text));
  }
  if (result.empty()) result = nothing_known();
  known_[expression] = result;
  return result;
}

Texts Constants::made(const Expression& expression) {
  const auto& operands = expression.operands;
  switch (expression.kind) {
    case ExpressionKind::constant:
      if (expression.constant.is(Kind::text))
        return each({""}, [&](auto) { return std::string(expression.constant.view()); });
      if (expression.constant.is(Kind::integer)) return {std::to_string(expression.constant.integer())};
      return nothing_known();
    case ExpressionKind::name: return of_name(std::string(expression.text));
    case ExpressionKind::attribute: return of_name("." + std::string(expression.text));
    case ExpressionKind::item: return of_key(expression);
    case ExpressionKind::add:
    case ExpressionKind::concat: {
      Texts result = {""};
      for (const Expression* operand : operands) result = product(result, texts(operand));
      return result;
    }
    case ExpressionKind::modulo:
      return formatted(operands[0],
                       operands[1]->kind == ExpressionKind::tuple ? operands[1]->operands : std::vector{operands[1]});
    case ExpressionKind::choice:
    case ExpressionKind::either:
    case ExpressionKind::both: {
      Texts result;
      for (std::size_t i = expression.kind == ExpressionKind::choice ? 1 : 0; i < operands.size(); ++i) {
        for (std::string& text : texts(operands[i])) add_text(result, std::move(text));
      }
      return result;
    }
    case ExpressionKind::filter: return filtered(expression.text, operands.front(), expression.arguments);
    case ExpressionKind::call: {
      const Expression& callee = *operands.front();
      if (callee.kind == ExpressionKind::attribute) {
        if (callee.text == "join") return joined(callee.operands.front(), argument(expression.arguments, 0));
        return filtered(callee.text, callee.operands.front(), expression.arguments);
      }
      const FunctionBody* called = callee.kind == ExpressionKind::name ? macro(callee.text) : nullptr;
      return called == nullptr ? nothing_known() : of_body(called->body);
    }
    default: return nothing_known();
  }
}

Texts Constants::of_name(const std::string& name) {
  const auto found = bindings_.find(name);
  if (found == bindings_.end() || depth_ == most_names_deep) return nothing_known();
  Binding& binding = found->second;
  if (binding.texts) return *binding.texts;
  binding.texts = nothing_known();  // for what refers to itself
  ++depth_;
  Texts result;
  for (const Expression* value : binding.values) {
    for (std::string& text : texts(value)) add_text(result, std::move(text));
  }
  for (const Body* body : binding.bodies) {
    for (std::string& text : of_body(*body)) add_text(result, std::move(text));
  }
  --depth_;
  if (result.empty()) result = nothing_known();
  binding.texts = result;
  return result;
}

Texts Constants::of_body(const Body& body) {
  if (depth_ == most_names_deep) return nothing_known();
  ++depth_;
  Texts result = {""};
  std::size_t size = 0;
  for (const Statement* statement : body) {
    if (++size > most_bytes) break;
    if (statement->kind == StatementKind::data) {
      result = product(result, {std::string(statement->text.substr(0, most_bytes))});
    } else {
      result = product(result, statement->kind == StatementKind::print ? texts(statement->value) : nothing_known());
    }
  }
  --depth_;
  return result;
}

Texts Constants::of_key(const Expression& item) {
  const Expression& subscript = *item.operands[1];
  if (subscript.kind == ExpressionKind::slice) {
    const Expression* step = subscript.operands[2];
    const bool is_reversed = subscript.operands[0] == nullptr && subscript.operands[1] == nullptr && number(step) == -1;
    if (!is_reversed) return nothing_known();
    return each(texts(item.operands[0]), [](std::string text) { return std::string(text.rbegin(), text.rend()); });
  }
  Texts result;
  for (const std::string& key : texts(&subscript)) {
    for (std::string& text : of_name("." + key)) add_text(result, std::move(text));
  }
  return result;
}

Texts Constants::joined(const Expression* separator, const Expression* list) {
  Texts result = {""};
  if (list == nullptr || (list->kind != ExpressionKind::list && list->kind != ExpressionKind::tuple)) {
    return list == nullptr ? nothing_known() : texts(list);
  }
  const Texts between = separator == nullptr ? Texts{""} : texts(separator);
  for (std::size_t i = 0; i < std::min(list->operands.size(), most_bytes); ++i) {
    if (i > 0) result = product(result, between);
    result = product(result, texts(list->operands[i]));
  }
  return result;
}

// %s and {} are filled one after the other, whatever else a format says.
Texts Constants::formatted(const Expression* form, const std::vector<Expression*>& values) {
  Texts result = texts(form);
  for (std::size_t i = 0; i < std::min(values.size(), most_bytes); ++i) {
    Texts next;
    for (const std::string& text : result) {
      const std::string numbered = "{" + std::to_string(i) + "}";
      for (const std::string_view hole : {std::string_view("%s"), std::string_view("{}"), std::string_view(numbered)}) {
        const std::size_t at = text.find(hole);
        if (at == text.npos) continue;
        for (const std::string& value : texts(values[i])) {
          add_text(next, text.substr(0, at) + value + text.substr(at + hole.size()));
        }
        break;
      }
    }
    if (next.empty()) break;
    result = std::move(next);
  }
  return result;
}

Texts Constants::filtered(std::string_view name, const Expression* input, const ArgumentList& arguments) {
  if (name == "join") return joined(argument(arguments, 0), input);
  if (name == "format") return formatted(input, arguments.positional);
  if (name == "lower" || name == "upper") {
    return each(texts(input), [&](std::string text) { return cased(std::move(text), name == "upper"); });
  }
  if (name == "reverse") {
    return each(texts(input), [](std::string text) { return std::string(text.rbegin(), text.rend()); });
  }
  if (name == "trim" || name == "strip") return each(texts(input), stripped);
  if (name == "replace") {
    const Texts what = texts(argument(arguments, 0)), by = texts(argument(arguments, 1));
    return each(texts(input), [&](std::string text) { return replaced(text, what.front(), by.front()); });
  }
  if (name == "string" || name == "safe" || name == "escape" || name == "e" || name == "list") return texts(input);
  if (name == "default" || name == "d") {
    Texts result = texts(input);
    for (std::string& text : texts(argument(arguments, 0))) add_text(result, std::move(text));
    return result;
  }
  return nothing_known();
}

std::optional<double> Constants::number(const Expression* expression) {
  if (expression == nullptr) return std::nullopt;
  const auto& operands = expression->operands;
  const auto both = [&](auto&& operation) -> std::optional<double> {
    const auto left = number(operands[0]), right = number(operands[1]);
    return left && right ? std::optional<double>(operation(*left, *right)) : std::nullopt;
  };
  switch (expression->kind) {
    case ExpressionKind::constant: {
      const Value& value = expression->constant;
      if (value.is(Kind::integer)) return static_cast<double>(value.integer());
      if (value.is(Kind::real)) return value.real();
      if (value.is(Kind::big)) return HUGE_VAL;
      return std::nullopt;
    }
    case ExpressionKind::minus: {
      const auto value = number(operands[0]);
      return value ? std::optional<double>(-*value) : std::nullopt;
    }
    case ExpressionKind::add: return both(std::plus<>());
    case ExpressionKind::subtract: return both(std::minus<>());
    case ExpressionKind::multiply: return both(std::multiplies<>());
    case ExpressionKind::power: return both([](double a, double b) { return std::pow(a, b); });
    case ExpressionKind::name: {
      const auto found = bindings_.find(expression->text);
      if (found == bindings_.end() || found->second.values.size() != 1 || depth_ == most_names_deep)
        return std::nullopt;
      Binding& binding = found->second;
      if (!binding.is_number_known) {
        binding.is_number_known = true;  // of what refers to itself, nothing is known
        ++depth_;
        binding.number = number(binding.values.front());
        --depth_;
      }
      return binding.number;
    }
    default: return std::nullopt;
  }
}

}  // namespace modelutils::jinja
