#include "template/constant_values.h"

#include <string>
#include <utility>

#include "template/text_pieces.h"

namespace modelutils::jinja {

namespace {

// Of one expression, those below it not counted. Names that are put together are short.
constexpr Limits limits_of_one = {.steps = 2'000, .memory = u64{16} << 10};
// Of all of a template: the longest published one has a few thousand expressions.
constexpr u64 most_constants = 200'000;
constexpr u64 most_constant_steps = 20'000'000;
constexpr u64 most_constant_memory = u64{64} << 20;

}  // namespace

ConstantValues::ConstantValues(SoleValue sole_value, IsBound is_bound)
    : sole_value_(std::move(sole_value)),
      is_bound_(std::move(is_bound)),
      machine_(limits_of_one),
      interpreter_(machine_, 0, this),
      unknown_(Value::of(Kind::text, machine_.make<Text>(std::string(1, unknown_piece)))) {}

Value ConstantValues::of(const Expression& expression) {
  if (expression.kind == ExpressionKind::constant) return expression.constant;
  const bool is_of_block = expression.kind == ExpressionKind::filter && expression.operands.front() == nullptr;
  if (is_of_block) return unknown_;
  const auto [place, is_new] = known_.try_emplace(&expression, unknown_);  // also for what refers to itself
  if (!is_new) return place->second;
  is_exhausted_ = known_.size() > most_constants || steps_ > most_constant_steps || memory_ > most_constant_memory;
  if (is_exhausted_) return unknown_;
  if (expression.kind == ExpressionKind::name) return known_[&expression] = of_name(expression.text);
  const Machine::Spent before = machine_.exchange_spent({});
  const Outcome<Value> value = interpreter_.constant(expression);
  const Machine::Spent spent = machine_.exchange_spent(before);
  steps_ += spent.steps;
  memory_ += spent.memory;
  if (!value) return unknown_;
  return known_[&expression] = *value;
}

Value ConstantValues::of_name(std::string_view name) {
  if (const Expression* value = sole_value_(name)) {
    const Machine::Level level(machine_);
    return machine_.check_depth() ? of(*value) : unknown_;
  }
  if (is_bound_(name)) return unknown_;
  const Value global = find_global(machine_, name);
  return global.is(Kind::function) ? global : unknown_;
}

}  // namespace modelutils::jinja
