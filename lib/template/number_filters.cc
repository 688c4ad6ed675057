// Filters that return numbers, and filter look-up by name.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "template/interpreter.h"
#include "template/natives.h"
#include "template/operators.h"
#include "template/printing.h"
#include "template/python_literals.h"

namespace modelutils::jinja {

namespace {

Outcome<Value> absolute_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "abs", call, {}));
  if (input.is(Kind::undefined)) return machine.raise(fmt::format("bad operand type for abs(): 'Undefined'"));
  if (input.is(Kind::real)) return Value::of(std::fabs(input.real()));
  const auto integer = as_integer(input);
  if (!integer && !input.is(Kind::big)) {
    return machine.raise(fmt::format("bad operand type for abs(): '{}'", type_name(input)));
  }
  if (!integer || *integer < 0) return negative(machine, input);
  return Value::of(*integer);
}

// int() of a float. Returns `otherwise` for NaN; fails for infinity and values beyond 64 bits.
Outcome<Value> truncated(Machine& machine, double value, const Value& otherwise) {
  if (std::isnan(value)) return otherwise;
  if (std::isinf(value)) return machine.raise("cannot convert float infinity to integer");
  if (std::fabs(value) >= 9.2e18) return machine.unsupported("an integer beyond 64 bits");
  return Value::of(static_cast<i64>(value));
}

Outcome<Value> to_integer_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"default", "base"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "int", call, parameters));
  const Value otherwise = values[0].is(Kind::missing) ? Value::of(i64{0}) : values[0];
  if (input.is(Kind::undefined)) return machine.raise_undefined(input);
  if (input.is(Kind::real)) return truncated(machine, input.real(), otherwise);
  if (const auto integer = as_integer(input)) return Value::of(*integer);
  if (input.is(Kind::big)) return input;
  if (!input.is(Kind::text)) return otherwise;
  i64 base = 10;
  if (!values[1].is(Kind::missing)) {
    MU_ASSIGN(base, need_integer(machine, values[1], "base"));
  }
  MU_TRY(machine.charge(input.view().size() / 4));
  if (base != 0 && (base < 2 || base > 36)) return otherwise;
  Heap numbers;
  if (const auto value = integer_of_text(input.view(), static_cast<int>(base), numbers)) {
    if (!value->is(Kind::big)) return *value;
    MU_TRY(machine.reserve(value->view().size()));
    return Value::of(Kind::big, machine.make<Text>(std::string(value->view())));
  }
  if (const auto real = real_of_text(input.view())) return truncated(machine, *real, otherwise);
  return otherwise;
}

Outcome<Value> to_real_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"default"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "float", call, parameters));
  if (input.is(Kind::undefined)) return machine.raise_undefined(input);
  if (input.is(Kind::big)) return machine.unsupported("an integer beyond 64 bits");
  if (const auto real = as_real(input)) return Value::of(*real);
  if (input.is(Kind::text)) {
    MU_TRY(machine.charge(input.view().size() / 4));
    if (const auto real = real_of_text(input.view())) return Value::of(*real);
  }
  return values[0].is(Kind::missing) ? Value::of(0.0) : values[0];
}

Outcome<Value> rounded_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"precision", "method"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "round", call, parameters));
  i64 precision = 0;
  if (!values[0].is(Kind::missing)) {
    MU_ASSIGN(precision, need_integer(machine, values[0], "precision"));
  }
  std::string_view method = "common";
  if (!values[1].is(Kind::missing) && values[1].is(Kind::text)) method = values[1].view();
  if (method != "common" && method != "ceil" && method != "floor") {
    return machine.raise("method must be common, ceil or floor");
  }
  const auto number = as_real(input);
  if (!number) return machine.raise(fmt::format("type {} doesn't define __round__ method", type_name(input)));
  if (precision < 0 || precision > 15) return machine.unsupported("rounding to this number of digits");
  if (method == "common") {
    if (const auto integer = as_integer(input)) return Value::of(*integer);
    // Like Python: rounds the exact decimal value of the double, ties to even.
    return Value::of(parse_real(fmt::format("{:.{}f}", *number, precision)).value_or(*number));
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = *number * scale;
  return Value::of((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

}  // namespace

std::span<const NamedNative> number_filters() {
  static constexpr NamedNative filters[] = {
      {"abs", absolute_filter}, {"float", to_real_filter}, {"int", to_integer_filter}, {"round", rounded_filter}};
  return filters;
}

const Native* find_filter(std::string_view name) {
  for (const auto part : {text_filters(), sequence_filters(), selecting_filters(), number_filters()}) {
    const auto found = std::find_if(part.begin(), part.end(), [&](const NamedNative& one) { return one.name == name; });
    if (found != part.end()) return &found->native;
  }
  return nullptr;
}

}  // namespace modelutils::jinja
