// Filters that return lists, or reduce a list to a single value.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "template/interpreter.h"
#include "template/operators.h"
#include "template/printing.h"
#include "template/python_literals.h"
#include "template/text_arguments.h"

namespace modelutils::jinja {

namespace {

Outcome<Value> generated(Machine& machine, std::vector<Value> items) {
  MU_TRY(machine.reserve(items.size() * sizeof(Value)));
  auto* iterator = machine.make<Iterator>();
  iterator->items = std::move(items);
  return Value::of(Kind::iterator, iterator);
}

Outcome<Value> list_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "list", call, {}));
  MU_ASSIGN(std::vector<Value> items, iterate(machine, input));
  return machine.list(std::move(items));
}

Outcome<Value> length_of_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  MU_TRY(bind_arguments(interpreter.machine(), "length", call, {}));
  MU_ASSIGN(const std::size_t count, length(interpreter.machine(), input));
  return Value::of(count);
}

Outcome<Value> first_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "first", call, {}));
  if (input.is(Kind::iterator)) {
    auto& iterator = input.changing<Iterator>();
    if (iterator.next < iterator.items.size()) return iterator.items[iterator.next++];
    if (iterator.failure != nullptr) return tl::make_unexpected(iterator.failure);
  } else if (input.is(Kind::text) && !input.view().empty()) {
    return interpreter.item(input, Value::of(i64{0}));
  } else {
    MU_ASSIGN(const std::vector<Value> items, iterate(machine, input));
    if (!items.empty()) return items.front();
  }
  return machine.undefined("No first item, sequence was empty.");
}

bool is_reversible(const Value& value) {
  return value.is(Kind::list) || value.is(Kind::tuple) || value.is(Kind::range) || value.is(Kind::text) ||
         value.is(Kind::dict) || value.is(Kind::view);
}

Outcome<Value> last_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "last", call, {}));
  if (input.is(Kind::undefined)) return machine.undefined("No last item, sequence was empty.");
  if (!is_reversible(input)) {
    return machine.raise(fmt::format("'{}' object is not reversible", type_name(input)));
  }
  if (input.is(Kind::text) && !input.view().empty()) return interpreter.item(input, Value::of(i64{-1}));
  MU_ASSIGN(const std::vector<Value> items, iterate(machine, input));
  return items.empty() ? machine.undefined("No last item, sequence was empty.") : items.back();
}

Outcome<Value> reverse_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "reverse", call, {}));
  if (!input.is(Kind::undefined) && !is_reversible(input) && !input.is(Kind::iterator)) {
    return machine.raise("argument must be iterable");
  }
  MU_ASSIGN(std::vector<Value> items, iterate(machine, input));
  std::reverse(items.begin(), items.end());
  if (!input.is(Kind::text))
    return input.is(Kind::iterator) ? machine.list(std::move(items)) : generated(machine, std::move(items));
  std::string text;
  for (const Value& item : items) text += item.view();
  return machine.text(std::move(text), input.as<Text>().is_markup);
}

Outcome<Value> join_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"d", "attribute"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "join", call, parameters));
  MU_ASSIGN(const AttributePath path, AttributePath::of(machine, values[1]));
  std::string between;
  if (!values[0].is(Kind::missing)) MU_TRY(append_str(machine, between, values[0]));
  MU_ASSIGN(const std::vector<Value> items, iterate(machine, input));
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) {
      MU_TRY(machine.reserve(between.size()));
      text += between;
    }
    MU_ASSIGN(const Value item, path.get(interpreter, items[i]));
    MU_TRY(append_str(machine, text, item));
  }
  return machine.text(std::move(text));
}

Outcome<Value> sort_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"reverse", "case_sensitive", "attribute"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "sort", call, parameters));
  if (values[2].is(Kind::text) && values[2].view().find(',') != std::string_view::npos) {
    return machine.unsupported("sorting by several attributes");
  }
  MU_ASSIGN(const AttributePath path, AttributePath::of(machine, values[2]));
  MU_ASSIGN(const std::vector<Value> items, iterate(machine, input));
  MU_ASSIGN(const std::vector<Value> keys, keys_of(interpreter, items, path, is_true(values[1])));
  std::vector<std::size_t> order(items.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  MU_TRY(sort_by_keys(machine, keys, is_true(values[0]), order));
  std::vector<Value> sorted;
  for (const std::size_t i : order) sorted.push_back(items[i]);
  return machine.list(std::move(sorted));
}

Outcome<Value> dictsort_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"case_sensitive", "by", "reverse"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "dictsort", call, parameters));
  bool by_value = false;
  if (values[1].is(Kind::text)) by_value = values[1].view() == "value";
  if (!values[1].is(Kind::missing) && (!values[1].is(Kind::text) || (!by_value && values[1].view() != "key"))) {
    return machine.raise("You can only sort by either \"key\" or \"value\"");
  }
  if (input.is(Kind::undefined)) return machine.raise_undefined(input);
  if (!input.is(Kind::dict)) return machine.raise(fmt::format("'{}' object has no items()", type_name(input)));
  const View pairs(&input.as<Dict>(), ViewOf::items);
  MU_ASSIGN(const std::vector<Value> items, view_items(machine, pairs));
  std::vector<Value> keys;
  for (const Value& item : items) {
    Value key = item.items()[by_value ? 1 : 0];
    if (!is_true(values[0])) {
      MU_ASSIGN(key, without_case(machine, key));
    }
    keys.push_back(key);
  }
  std::vector<std::size_t> order(items.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  MU_TRY(sort_by_keys(machine, keys, is_true(values[2]), order));
  std::vector<Value> sorted;
  for (const std::size_t i : order) sorted.push_back(items[i]);
  return machine.list(std::move(sorted));
}

Outcome<Value> unique_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"case_sensitive", "attribute"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "unique", call, parameters));
  MU_ASSIGN(const AttributePath path, AttributePath::of(machine, values[1]));
  MU_ASSIGN(const std::vector<Value> items, iterate(machine, input));
  MU_ASSIGN(const std::vector<Value> keys, keys_of(interpreter, items, path, is_true(values[0])));
  constexpr u64 bytes_of_hash = 64;  // a set node
  std::unordered_set<std::string> seen;
  std::vector<Value> kept;
  for (std::size_t i = 0; i < items.size(); ++i) {
    MU_ASSIGN(std::string hash, hash_text(machine, keys[i]));
    MU_TRY(machine.reserve(bytes_of_hash + hash.size()));
    if (seen.insert(std::move(hash)).second) kept.push_back(items[i]);
  }
  return generated(machine, std::move(kept));
}

template <bool wants_greatest>
Outcome<Value> extreme_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"case_sensitive", "attribute"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "min", call, parameters));
  MU_ASSIGN(const AttributePath path, AttributePath::of(machine, values[1]));
  MU_ASSIGN(const std::vector<Value> items, iterate(machine, input));
  if (items.empty()) return machine.undefined("No aggregated item, sequence was empty.");
  MU_ASSIGN(const std::vector<Value> keys, keys_of(interpreter, items, path, is_true(values[0])));
  std::size_t best = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    MU_ASSIGN(const bool is_better,
              wants_greatest ? less(machine, keys[best], keys[i]) : less(machine, keys[i], keys[best]));
    if (is_better) best = i;
  }
  return items[best];
}

Outcome<Value> sum_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"attribute", "start"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "sum", call, parameters));
  MU_ASSIGN(const AttributePath path, AttributePath::of(machine, values[0]));
  Value total = values[1].is(Kind::missing) ? Value::of(i64{0}) : values[1];
  if (total.is(Kind::text)) return machine.raise("sum() can't sum strings [use ''.join(seq) instead]");
  MU_ASSIGN(const std::vector<Value> items, iterate(machine, input));
  for (const Value& item : items) {
    MU_ASSIGN(const Value value, path.get(interpreter, item));
    MU_ASSIGN(total, binary(machine, ExpressionKind::add, total, value));
  }
  return total;
}

Outcome<Value> batch_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"linecount", "fill_with"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "batch", call, parameters, 1));
  MU_ASSIGN(const i64 count, need_integer(machine, values[0], "linecount"));
  MU_ASSIGN(const std::vector<Value> items, iterate(machine, input));
  std::vector<Value> batches;
  std::vector<Value> now;
  for (const Value& item : items) {
    if (static_cast<i64>(now.size()) == count) {
      MU_ASSIGN(const Value full, machine.list(std::move(now)));
      batches.push_back(full);
      now = {};
    }
    now.push_back(item);
  }
  if (!now.empty()) {
    const bool fills = !values[1].is(Kind::missing) && !values[1].is(Kind::none);
    while (fills && static_cast<i64>(now.size()) < count) {
      MU_TRY(machine.reserve(sizeof(Value)));
      now.push_back(values[1]);
    }
    MU_ASSIGN(const Value rest, machine.list(std::move(now)));
    batches.push_back(rest);
  }
  return generated(machine, std::move(batches));
}

Outcome<Value> slice_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  constexpr std::string_view parameters[] = {"slices", "fill_with"};
  MU_ASSIGN(const std::vector<Value> values, bind_arguments(machine, "slice", call, parameters, 1));
  MU_ASSIGN(const i64 slices, need_integer(machine, values[0], "slices"));
  MU_ASSIGN(const std::vector<Value> items, iterate(machine, input));
  if (slices == 0) return machine.raise("integer division or modulo by zero");
  std::vector<Value> parts;
  const auto size = static_cast<i64>(items.size());
  std::size_t at = 0;
  for (i64 i = 0; i < slices; ++i) {
    std::vector<Value> part;
    for (i64 count = size / slices + (i < size % slices ? 1 : 0); count > 0; --count) part.push_back(items[at++]);
    const bool fills = !values[1].is(Kind::missing) && !values[1].is(Kind::none);
    if (fills && i >= size % slices) part.push_back(values[1]);
    MU_ASSIGN(const Value list, machine.list(std::move(part)));
    parts.push_back(list);
  }
  return generated(machine, std::move(parts));
}

Outcome<Value> items_of_filter(Interpreter& interpreter, const Value& input, const Call& call) {
  Machine& machine = interpreter.machine();
  MU_TRY(bind_arguments(machine, "items", call, {}));
  if (input.is(Kind::undefined)) return generated(machine, {});
  if (!input.is(Kind::dict)) return machine.raise("Can only get item pairs from a mapping.");
  MU_ASSIGN(std::vector<Value> items, view_items(machine, View(&input.as<Dict>(), ViewOf::items)));
  return generated(machine, std::move(items));
}

}  // namespace

std::span<const NamedNative> sequence_filters() {
  static constexpr NamedNative filters[] = {
      {"batch", batch_filter},       {"count", length_of_filter},    {"dictsort", dictsort_filter},
      {"first", first_filter},       {"items", items_of_filter},     {"join", join_filter},
      {"last", last_filter},         {"length", length_of_filter},   {"list", list_filter},
      {"max", extreme_filter<true>}, {"min", extreme_filter<false>}, {"reverse", reverse_filter},
      {"slice", slice_filter},       {"sort", sort_filter},          {"sum", sum_filter},
      {"unique", unique_filter},     {"groupby", nullptr},           {"random", nullptr},
  };
  return filters;
}

// Filters that return numbers, and filter look-up by name.

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
