#include "template/literals.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace modelutils::jinja {

namespace {

// Limits for following names: an attack hides a short name, split into few pieces.
constexpr std::size_t most_bytes = 256;
constexpr u32 most_names_deep = 8;

void add(std::string& out, std::string_view text) {
  out += text.substr(0, most_bytes - std::min(most_bytes, out.size()));
}

bool is_list(const Expression& expression) {
  return expression.kind == ExpressionKind::list || expression.kind == ExpressionKind::tuple;
}

}  // namespace

Literals::Literals(const Body& body) {
  collect(body);
  // Visits names in source order, so that each finds the earlier ones memoised and recursion stays shallow.
  std::string text;
  for (const std::string& name : order_) {
    append_name(text, name);
    text.clear();
  }
}

const FunctionBody* Literals::macro(std::string_view name) const {
  const auto found = macros_.find(name);
  return found == macros_.end() ? nullptr : found->second;
}

std::string Literals::joined(const Expression* expression) {
  std::string text;
  append(text, expression);
  return text;
}

void Literals::append(std::string& out, const Expression* expression) {
  if (expression == nullptr || out.size() >= most_bytes) return;
  const auto& operands = expression->operands;
  switch (expression->kind) {
    case ExpressionKind::constant:
      if (expression->constant.is(Kind::text)) add(out, expression->constant.view());
      break;
    case ExpressionKind::name: append_name(out, std::string(expression->text)); break;
    case ExpressionKind::attribute: {
      const std::string name = "." + std::string(expression->text);
      is_bound(name) ? append_name(out, name) : append(out, operands.front());
      break;
    }
    case ExpressionKind::item: append_item(out, *expression); break;
    case ExpressionKind::choice:
    case ExpressionKind::either:
    case ExpressionKind::both:
      for (std::size_t i = expression->kind == ExpressionKind::choice ? 1 : 0; i < operands.size(); ++i) {
        append(out, operands[i]);
        out += unknown_piece;
      }
      break;
    case ExpressionKind::call: {
      const Expression& callee = *operands.front();
      const FunctionBody* called = callee.kind == ExpressionKind::name ? macro(callee.text) : nullptr;
      called != nullptr ? append_body(out, called->body) : append(out, &callee);
      append_arguments(out, expression->arguments);
      break;
    }
    case ExpressionKind::compare:
    case ExpressionKind::test: out += unknown_piece; break;
    default:
      for (const Expression* operand : operands) append(out, operand);
      append_arguments(out, expression->arguments);
  }
}

void Literals::append_arguments(std::string& out, const ArgumentList& arguments) {
  for (const Expression* argument : arguments.positional) append(out, argument);
  for (const auto& [name, argument] : arguments.named) {
    add(out, name);
    append(out, argument);
  }
  append(out, arguments.rest);
  append(out, arguments.rest_named);
}

void Literals::append_item(std::string& out, const Expression& item) {
  const Expression &base = *item.operands[0], &subscript = *item.operands[1];
  if (subscript.kind == ExpressionKind::constant && subscript.constant.is(Kind::text)) {
    const std::string name = "." + std::string(subscript.constant.view());
    if (is_bound(name)) return append_name(out, name);
  }
  const Expression* list = &base;
  const auto bound = base.kind == ExpressionKind::name ? bindings_.find(base.text) : bindings_.end();
  if (bound != bindings_.end() && bound->second.values.size() == 1) list = bound->second.values.front();
  const auto index = is_list(*list) ? number(&subscript) : std::nullopt;
  if (!index) return append(out, &base);
  const auto size = static_cast<double>(list->operands.size());
  const double place = *index < 0 ? *index + size : *index;
  if (place >= 0 && place < size) append(out, list->operands[static_cast<std::size_t>(place)]);
}

void Literals::append_body(std::string& out, const Body& body) {
  if (depth_ == most_names_deep) return;
  ++depth_;
  for (const Statement* statement : body) {
    if (out.size() >= most_bytes) break;
    if (statement->kind == StatementKind::data) {
      add(out, statement->text);
    } else if (statement->kind == StatementKind::print) {
      append(out, statement->value);
    } else {
      out += unknown_piece;
    }
  }
  --depth_;
}

void Literals::append_name(std::string& out, const std::string& name) {
  const auto found = bindings_.find(name);
  if (found == bindings_.end() || (depth_ == most_names_deep && !found->second.joined)) {
    out += unknown_piece;
    return;
  }
  Binding& binding = found->second;
  if (!binding.joined) {
    binding.joined = std::string(1, unknown_piece);  // for self-references
    ++depth_;
    std::string text;
    for (const Expression* value : binding.values) {
      append(text, value);
      text += unknown_piece;
    }
    for (const Body* body : binding.bodies) {
      append_body(text, *body);
      text += unknown_piece;
    }
    --depth_;
    if (text.size() > 1) text.pop_back();  // the text after the name is adjacent to the last value
    binding.joined = text.empty() ? std::string(1, unknown_piece) : text;
  }
  add(out, *binding.joined);
}

std::optional<double> Literals::number(const Expression* expression) {
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
        binding.is_number_known = true;  // nothing is known about self-references
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
