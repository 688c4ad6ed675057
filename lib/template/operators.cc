#include "template/operators.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "template/percent_format.h"
#include "template/printing.h"
#include "template/python_text.h"

namespace modelutils::jinja {

namespace {

std::string_view sign_of(ExpressionKind kind) {
  switch (kind) {
    case ExpressionKind::add: return "+";
    case ExpressionKind::subtract: return "-";
    case ExpressionKind::multiply: return "*";
    case ExpressionKind::divide: return "/";
    case ExpressionKind::floor_divide: return "//";
    case ExpressionKind::modulo: return "%";
    default: return "** or pow()";
  }
}

tl::unexpected<Failure*> wrong_types(Machine& machine, ExpressionKind kind, const Value& left, const Value& right) {
  if (kind == ExpressionKind::add && left.is(Kind::text)) {
    return machine.raise(fmt::format("can only concatenate str (not \"{}\") to str", type_name(right)));
  }
  if (kind == ExpressionKind::add && left.is(Kind::list)) {
    return machine.raise(fmt::format("can only concatenate list (not \"{}\") to list", type_name(right)));
  }
  return machine.raise(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", sign_of(kind), type_name(left),
                                   type_name(right)));
}

tl::unexpected<Failure*> too_large(Machine& machine) {
  return machine.unsupported("an integer beyond 64 bits");
}

Outcome<Value> integer_power(Machine& machine, i64 base, i64 exponent) {
  if (exponent < 0) {
    if (base == 0) return machine.raise("0.0 cannot be raised to a negative power");
    return Value::of(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  if (base == 0 || base == 1) return Value::of(exponent == 0 ? i64{1} : base);
  if (base == -1) return Value::of(exponent % 2 == 0 ? i64{1} : i64{-1});
  i64 result = 1;
  for (; exponent > 0; --exponent) {  // at most 63 rounds before it overflows
    if (__builtin_mul_overflow(result, base, &result)) return too_large(machine);
  }
  return Value::of(result);
}

Outcome<Value> of_integers(Machine& machine, ExpressionKind kind, i64 left, i64 right) {
  i64 result = 0;
  switch (kind) {
    case ExpressionKind::add:
      if (__builtin_add_overflow(left, right, &result)) return too_large(machine);
      return Value::of(result);
    case ExpressionKind::subtract:
      if (__builtin_sub_overflow(left, right, &result)) return too_large(machine);
      return Value::of(result);
    case ExpressionKind::multiply:
      if (__builtin_mul_overflow(left, right, &result)) return too_large(machine);
      return Value::of(result);
    case ExpressionKind::power: return integer_power(machine, left, right);
    default: break;
  }
  if (right == 0) {
    if (kind == ExpressionKind::divide) return machine.raise("division by zero");
    return machine.raise("integer division or modulo by zero");
  }
  if (kind == ExpressionKind::divide) {
    return Value::of(static_cast<double>(static_cast<long double>(left) / static_cast<long double>(right)));
  }
  if (right == -1) {  // avoids overflow: the lowest integer divided by −1
    if (kind == ExpressionKind::modulo) return Value::of(i64{0});
    if (left == std::numeric_limits<i64>::min()) return too_large(machine);
    return Value::of(-left);
  }
  const i64 rest = left % right;
  const bool is_below = rest != 0 && (rest < 0) != (right < 0);  // C++ rounds towards zero, Python rounds down
  if (kind == ExpressionKind::modulo) return Value::of(is_below ? rest + right : rest);
  return Value::of(left / right - (is_below ? 1 : 0));
}

Outcome<Value> of_reals(Machine& machine, ExpressionKind kind, double left, double right) {
  switch (kind) {
    case ExpressionKind::add: return Value::of(left + right);
    case ExpressionKind::subtract: return Value::of(left - right);
    case ExpressionKind::multiply: return Value::of(left * right);
    case ExpressionKind::power: {
      if (left == 0 && right < 0) return machine.raise("0.0 cannot be raised to a negative power");
      if (left < 0 && std::isfinite(right) && right != std::floor(right))
        return machine.unsupported("a complex number");
      const double result = std::pow(left, right);
      if (std::isinf(result) && std::isfinite(left) && std::isfinite(right)) {
        return machine.raise("(34, 'Numerical result out of range')");
      }
      return Value::of(result);
    }
    default: break;
  }
  if (right == 0) {
    return machine.raise(kind == ExpressionKind::divide   ? "float division by zero"
                         : kind == ExpressionKind::modulo ? "float modulo"
                                                          : "float floor division by zero");
  }
  if (kind == ExpressionKind::divide) return Value::of(left / right);
  // The same steps as CPython's float_divmod().
  double rest = std::fmod(left, right);
  double quotient = (left - rest) / right;
  if (rest != 0) {
    if ((right < 0) != (rest < 0)) {
      rest += right;
      quotient -= 1;
    }
  } else {
    rest = std::copysign(0.0, right);
  }
  if (kind == ExpressionKind::modulo) return Value::of(rest);
  if (quotient == 0) return Value::of(std::copysign(0.0, left / right));
  double whole = std::floor(quotient);
  if (quotient - whole > 0.5) whole += 1;
  return Value::of(whole);
}

Outcome<Value> repeat(Machine& machine, const Value& of, i64 count) {
  const u64 times = count > 0 ? static_cast<u64>(count) : 0;
  u64 bytes = 0;
  const u64 one = of.is(Kind::text) ? of.view().size() : of.items().size() * sizeof(Value);
  if (__builtin_mul_overflow(one, times, &bytes)) bytes = std::numeric_limits<u64>::max() / 2;
  MU_TRY(machine.reserve(bytes));
  if (of.is(Kind::text)) {
    std::string text;
    text.reserve(bytes);
    for (u64 i = 0; i < times && one > 0; ++i) text += of.view();
    return machine.text(std::move(text), of.as<Text>().is_markup);
  }
  std::vector<Value> items;
  items.reserve(of.items().size() * (one > 0 ? times : 0));
  for (u64 i = 0; i < times && one > 0; ++i) items.insert(items.end(), of.items().begin(), of.items().end());
  return machine.list(std::move(items), of.kind());
}

Outcome<Value> add_texts(Machine& machine, const Value& left, const Value& right) {
  const bool is_markup = left.as<Text>().is_markup || right.as<Text>().is_markup;
  const u64 size = left.view().size() + right.view().size();
  MU_TRY(machine.reserve(is_markup ? most_escaped * size : size));
  std::string text;
  const auto append = [&](const Value& part) {
    text += is_markup && !part.as<Text>().is_markup ? escape_markup(part.view()) : std::string(part.view());
  };
  append(left);
  append(right);
  return machine.text(std::move(text), is_markup);
}

bool is_repeatable(const Value& value) {
  return value.is(Kind::text) || value.is(Kind::list) || value.is(Kind::tuple);
}

bool is_number(const Value& value) {
  return as_real(value).has_value();
}

}  // namespace

std::optional<double> as_real(const Value& value) {
  if (value.is(Kind::real)) return value.real();
  if (const auto integer = as_integer(value)) return static_cast<double>(*integer);
  return {};
}

std::optional<i64> as_integer(const Value& value) {
  if (value.is(Kind::integer)) return value.integer();
  if (value.is(Kind::boolean)) return value.boolean() ? 1 : 0;
  return {};
}

Outcome<i64> need_integer(Machine& machine, const Value& value, std::string_view what) {
  if (value.is(Kind::undefined)) return machine.raise_undefined(value);
  if (value.is(Kind::big)) return too_large(machine);
  const auto integer = as_integer(value);
  if (!integer) return machine.raise(fmt::format("{} must be an integer, not {}", what, type_name(value)));
  return *integer;
}

bool is_true(const Value& value) {
  switch (value.kind()) {
    case Kind::missing:
    case Kind::undefined:
    case Kind::none: return false;
    case Kind::boolean: return value.boolean();
    case Kind::integer: return value.integer() != 0;
    case Kind::real: return value.real() != 0;
    case Kind::text: return !value.view().empty();
    case Kind::list:
    case Kind::tuple:
    case Kind::range: return !value.items().empty();
    case Kind::dict: return !value.as<Dict>().entries.empty();
    case Kind::view: return !value.as<View>().dict->entries.empty();
    default: return true;
  }
}

Outcome<Value> binary(Machine& machine, ExpressionKind kind, const Value& left, const Value& right) {
  MU_TRY(machine.charge(1));
  if (left.is(Kind::undefined)) return machine.raise_undefined(left);
  if (kind == ExpressionKind::modulo && left.is(Kind::text)) return percent_format(machine, left, right);
  if (right.is(Kind::undefined)) {
    const bool is_concatenation = kind == ExpressionKind::add && left.is(Kind::list);
    if (!is_concatenation) return machine.raise_undefined(right);
  }
  if (left.is(Kind::big) || right.is(Kind::big)) return too_large(machine);
  const auto left_integer = as_integer(left);
  const auto right_integer = as_integer(right);
  if (left_integer && right_integer) return of_integers(machine, kind, *left_integer, *right_integer);
  if (is_number(left) && is_number(right)) return of_reals(machine, kind, *as_real(left), *as_real(right));
  if (kind == ExpressionKind::add && left.is(Kind::text) && right.is(Kind::text)) {
    return add_texts(machine, left, right);
  }
  if (kind == ExpressionKind::add && left.kind() == right.kind() && (left.is(Kind::list) || left.is(Kind::tuple))) {
    MU_TRY(machine.reserve((left.items().size() + right.items().size()) * sizeof(Value)));
    std::vector<Value> items = left.items();
    items.insert(items.end(), right.items().begin(), right.items().end());
    return machine.list(std::move(items), left.kind());
  }
  if (kind == ExpressionKind::multiply && is_repeatable(left) && right_integer) {
    return repeat(machine, left, *right_integer);
  }
  if (kind == ExpressionKind::multiply && is_repeatable(right) && left_integer) {
    return repeat(machine, right, *left_integer);
  }
  return wrong_types(machine, kind, left, right);
}

Outcome<Value> negative(Machine& machine, const Value& value) {
  if (value.is(Kind::undefined)) return machine.raise_undefined(value);
  if (value.is(Kind::real)) return Value::of(-value.real());
  if (value.is(Kind::big) || (value.is(Kind::integer) && value.integer() == std::numeric_limits<i64>::min())) {
    return too_large(machine);
  }
  if (const auto integer = as_integer(value)) return Value::of(-*integer);
  return machine.raise(fmt::format("bad operand type for unary -: '{}'", type_name(value)));
}

Outcome<std::vector<Value>> iterate(Machine& machine, const Value& value) {
  std::vector<Value> items;
  switch (value.kind()) {
    case Kind::undefined: return items;
    case Kind::list:
    case Kind::tuple:
    case Kind::range: MU_TRY(machine.reserve(value.items().size() * sizeof(Value))); return value.items();
    case Kind::text: {
      const std::string_view text = value.view();
      MU_TRY(machine.reserve(value.as<Text>().length * sizeof(Value)));
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t size = bytes_of(text.substr(at), 1);
        MU_ASSIGN(const Value character, machine.text(std::string(text.substr(at, size))));
        items.push_back(character);
        at += size;
      }
      return items;
    }
    case Kind::dict: return view_items(machine, View(&value.as<Dict>(), ViewOf::keys));
    case Kind::view: return view_items(machine, value.as<View>());
    case Kind::iterator: {
      auto& iterator = value.changing<Iterator>();
      if (iterator.failure != nullptr) return tl::make_unexpected(iterator.failure);
      MU_TRY(machine.reserve(iterator.items.size() * sizeof(Value)));
      items.assign(iterator.items.begin() + static_cast<std::ptrdiff_t>(iterator.next), iterator.items.end());
      iterator.next = iterator.items.size();
      return items;
    }
    case Kind::loop: return machine.unsupported("iterating a loop");
    default: return machine.raise(fmt::format("'{}' object is not iterable", type_name(value)));
  }
}

Outcome<std::size_t> length(Machine& machine, const Value& value) {
  switch (value.kind()) {
    case Kind::undefined: return std::size_t{0};
    case Kind::text: return value.as<Text>().length;
    case Kind::list:
    case Kind::tuple:
    case Kind::range: return value.items().size();
    case Kind::dict: return value.as<Dict>().entries.size();
    case Kind::view: return value.as<View>().dict->entries.size();
    case Kind::loop: return machine.unsupported("the length of a loop");
    default: return machine.raise(fmt::format("object of type '{}' has no len()", type_name(value)));
  }
}

}  // namespace modelutils::jinja
