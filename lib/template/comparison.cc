// Equality, ordering, membership and hashing of values with Python's semantics.
#include <fmt/core.h>

#include <cmath>
#include <cstring>

#include "template/operators.h"
#include "template/printing.h"
#include "template/text_arguments.h"

namespace modelutils::jinja {

namespace {

Outcome<bool> equal_items(Machine& machine, const std::vector<Value>& left, const std::vector<Value>& right) {
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    MU_ASSIGN(const bool same, equal(machine, left[i], right[i]));
    if (!same) return false;
  }
  return true;
}

Outcome<bool> equal_dicts(Machine& machine, const Dict& left, const Dict& right) {
  if (left.entries.size() != right.entries.size()) return false;
  for (const auto& [key, value] : left.entries) {
    MU_ASSIGN(const std::string hash, hash_text(machine, key));
    const Value* other = right.find(hash);
    if (other == nullptr) return false;
    MU_ASSIGN(const bool same, equal(machine, value, *other));
    if (!same) return false;
  }
  return true;
}

// Exact for all 64-bit integers: the significand of long double has 64 bits.
long double as_number(const Value& value) {
  if (value.is(Kind::real)) return static_cast<long double>(value.real());
  return static_cast<long double>(*as_integer(value));
}

Outcome<bool> less_items(Machine& machine, const std::vector<Value>& left, const std::vector<Value>& right) {
  for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
    MU_ASSIGN(const bool same, equal(machine, left[i], right[i]));
    if (!same) return less(machine, left[i], right[i]);
  }
  return left.size() < right.size();
}

}  // namespace

Outcome<bool> equal(Machine& machine, const Value& left, const Value& right) {
  MU_DEEPER(machine);
  MU_TRY(machine.charge(1));
  if (as_real(left) && as_real(right)) return as_number(left) == as_number(right);
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::undefined:
    case Kind::none: return true;
    case Kind::big:
    case Kind::text:
      if (left.view().size() != right.view().size()) return false;
      MU_TRY(machine.charge(left.view().size() / 64));
      return left.view() == right.view();
    case Kind::list:
    case Kind::tuple:
    case Kind::range: return equal_items(machine, left.items(), right.items());
    case Kind::dict: return equal_dicts(machine, left.as<Dict>(), right.as<Dict>());
    default: return left.object() == right.object();
  }
}

Outcome<bool> less(Machine& machine, const Value& left, const Value& right) {
  MU_DEEPER(machine);
  MU_TRY(machine.charge(1));
  if (left.is(Kind::undefined)) return machine.raise_undefined(left);
  if (right.is(Kind::undefined)) return machine.raise_undefined(right);
  if (left.is(Kind::big) || right.is(Kind::big)) return machine.unsupported("an integer beyond 64 bits");
  if (as_real(left) && as_real(right)) return as_number(left) < as_number(right);
  if (left.kind() == right.kind()) {
    // UTF-8 preserves the order of code points.
    if (left.is(Kind::text)) {
      MU_TRY(machine.charge(std::min(left.view().size(), right.view().size()) / 64));
      return left.view() < right.view();
    }
    if (left.is(Kind::list) || left.is(Kind::tuple)) return less_items(machine, left.items(), right.items());
  }
  return machine.raise(
      fmt::format("'<' not supported between instances of '{}' and '{}'", type_name(left), type_name(right)));
}

Outcome<bool> compare(Machine& machine, Comparison comparison, const Value& left, const Value& right) {
  // NaN compares false with everything.
  const auto not_a_number = [](const Value& value) { return value.is(Kind::real) && std::isnan(value.real()); };
  const bool is_unordered = not_a_number(left) || not_a_number(right);
  switch (comparison) {
    case Comparison::equal: return equal(machine, left, right);
    case Comparison::less: return less(machine, left, right);
    case Comparison::greater: return less(machine, right, left);
    case Comparison::in: return contains(machine, right, left);
    case Comparison::not_equal: {
      MU_ASSIGN(const bool same, equal(machine, left, right));
      return !same;
    }
    case Comparison::less_equal: {
      MU_ASSIGN(const bool is_greater, less(machine, right, left));
      return !is_greater && !is_unordered;
    }
    case Comparison::greater_equal: {
      MU_ASSIGN(const bool is_less, less(machine, left, right));
      return !is_less && !is_unordered;
    }
    case Comparison::not_in: {
      MU_ASSIGN(const bool found, contains(machine, right, left));
      return !found;
    }
  }
  return false;
}

Outcome<bool> contains(Machine& machine, const Value& container, const Value& item) {
  MU_TRY(machine.charge(1));
  switch (container.kind()) {
    case Kind::text:
      if (item.is(Kind::undefined) || !item.is(Kind::text)) {
        return machine.raise(fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
      }
      MU_TRY(charge_search(machine, container.view(), item.view()));
      return container.view().find(item.view()) != std::string_view::npos;
    case Kind::dict: {
      MU_ASSIGN(const std::string hash, hash_text(machine, item));
      return container.as<Dict>().find(hash) != nullptr;
    }
    case Kind::undefined: return false;
    case Kind::list:
    case Kind::tuple:
    case Kind::range:
      for (const Value& one : container.items()) {
        MU_ASSIGN(const bool same, equal(machine, one, item));
        if (same) return true;
      }
      return false;
    case Kind::view:
    case Kind::iterator: {
      MU_ASSIGN(const std::vector<Value> items, iterate(machine, container));
      for (const Value& one : items) {
        MU_ASSIGN(const bool same, equal(machine, one, item));
        if (same) return true;
      }
      return false;
    }
    default: return machine.raise(fmt::format("argument of type '{}' is not iterable", type_name(container)));
  }
}

Outcome<std::string> hash_text(Machine& machine, const Value& key) {
  MU_DEEPER(machine);
  MU_TRY(machine.charge(1));
  switch (key.kind()) {
    case Kind::undefined: return std::string("u");
    case Kind::none: return std::string("n");
    case Kind::boolean:
    case Kind::integer: return fmt::format("i{}", *as_integer(key));
    case Kind::real: {
      const double value = key.real();
      if (value == std::floor(value) && std::fabs(value) < 9e18) return fmt::format("i{}", static_cast<i64>(value));
      return fmt::format("f{:a}", value);
    }
    case Kind::big: return "i" + std::string(key.view());
    case Kind::text: MU_TRY(machine.charge(key.view().size() / 64)); return "s" + std::string(key.view());
    case Kind::tuple: {
      std::string hash = "t";
      for (const Value& item : key.items()) {
        MU_ASSIGN(const std::string part, hash_text(machine, item));
        hash += fmt::format("{}:", part.size());
        hash += part;
      }
      MU_TRY(machine.reserve(hash.size()));
      return hash;
    }
    case Kind::list:
    case Kind::dict: return machine.raise(fmt::format("unhashable type: '{}'", type_name(key)));
    default: return fmt::format("p{}", static_cast<const void*>(key.object()));
  }
}

Outcome<void> put(Machine& machine, Dict& dict, const Value& key, const Value& value) {
  constexpr u64 bytes_of_entry = 160;  // two values, a table node and the spare capacity of vectors
  MU_ASSIGN(const std::string hash, hash_text(machine, key));
  MU_TRY(machine.reserve(bytes_of_entry + hash.size()));
  dict.put(hash, key, value);
  return {};
}

Outcome<void> sort_by_keys(Machine& machine, const std::vector<Value>& keys, bool reverse,
                           std::vector<std::size_t>& order) {
  // A hand-written merge sort: comparisons can fail, and NaN breaks the strict weak order that std::stable_sort()
  // needs.
  MU_TRY(machine.reserve(order.size() * sizeof(std::size_t)));
  std::vector<std::size_t> merged(order.size());
  for (std::size_t width = 1; width < order.size(); width *= 2) {
    for (std::size_t begin = 0; begin < order.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, order.size());
      const std::size_t end = std::min(begin + 2 * width, order.size());
      std::size_t left = begin;
      std::size_t right = middle;
      for (std::size_t to = begin; to < end; ++to) {
        bool takes_right = left == middle;
        if (left < middle && right < end) {
          const Value& first = keys[order[reverse ? left : right]];
          const Value& second = keys[order[reverse ? right : left]];
          MU_ASSIGN(takes_right, less(machine, first, second));
        }
        merged[to] = takes_right ? order[right++] : order[left++];
      }
    }
    order.swap(merged);
  }
  return {};
}

}  // namespace modelutils::jinja
