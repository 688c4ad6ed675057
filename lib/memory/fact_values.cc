#include "memory/fact_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/counted.h"

namespace modelutils::memory {

namespace {

constexpr u64 max_number = std::numeric_limits<u32>::max();

}  // namespace

tl::unexpected<Error> wrong(const arch::Fact& fact, std::string message) {
  return input_error("fit-key", std::move(message), at_key(fact.name));
}

Result<std::optional<u64>> find_number(const arch::Fact& fact) {
  if (!fact.is_stated()) return std::nullopt;
  if (const std::optional<bool> flag = fact.flag()) return u64{*flag};
  const std::optional<u64> value = fact.number();
  if (!value || *value > max_number) return wrong(fact, fmt::format("is not a whole number up to {}", max_number));
  return *value;
}

Result<u64> number_of(const arch::Fact& fact, u64 missing) {
  MU_ASSIGN(const std::optional<u64> value, find_number(fact));
  return value.value_or(missing);
}

Result<u64> needed_number(const arch::Fact& fact, std::string_view because) {
  MU_ASSIGN(const std::optional<u64> value, find_number(fact));
  if (value) return *value;
  return wrong(fact, because.empty() ? "is missing; the memory cannot be calculated without it"
                                     : fmt::format("is missing{}", because));
}

Result<std::optional<std::vector<u64>>> find_layers(const arch::Fact& fact, u64 count, u64 or_count) {
  const arch::LayerNumbers* list = fact.list();
  const auto size = static_cast<std::size_t>(count);
  if (list == nullptr) {
    MU_ASSIGN(const std::optional<u64> value, find_number(fact));
    if (!value) return std::nullopt;
    return std::vector<u64>(size, *value);
  }
  if (list->length != count && list->length != or_count) {
    return input_error("fit-layers",
                       fmt::format("is an array of {}, but the model has {}", list->length, counted(count, "layer")),
                       at_key(fact.name));
  }
  if (!list->is_numeric) return wrong(fact, "is not an array of numbers");
  std::vector<u64> values(size, 0);
  for (std::size_t i = 0; i < list->values.size() && i < size; ++i) {
    const i64 value = list->values[i];
    if (value < 0 || static_cast<u64>(value) > max_number) {
      return wrong(fact, fmt::format("holds {}, which is not a number from 0 to {}", value, max_number));
    }
    values[i] = static_cast<u64>(value);
  }
  return values;
}

Result<std::vector<u64>> layers_of(const arch::Fact& fact, u64 count, u64 missing) {
  MU_ASSIGN(std::optional<std::vector<u64>> values, find_layers(fact, count, count));
  return values ? std::move(*values) : std::vector<u64>(static_cast<std::size_t>(count), missing);
}

}  // namespace modelutils::memory
