#include "memory/key_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/counted.h"
#include "gguf/parse.h"

namespace modelutils::memory {

namespace {

constexpr u64 max_number = std::numeric_limits<u32>::max();

}  // namespace

tl::unexpected<Error> KeyReader::wrong(std::string_view key, std::string message) const {
  return input_error("fit-key", std::move(message), at_key(index_.arch_key(key)));
}

Result<std::optional<u64>> KeyReader::find(std::string_view key) const {
  const std::string name = index_.arch_key(key);
  if (index_.key(name) == nullptr) return std::nullopt;
  if (const std::optional<bool> flag = index_.bool_value(name)) return u64{*flag};
  const std::optional<u64> value = index_.unsigned_value(name);
  if (!value || *value > max_number) return wrong(key, fmt::format("is not a whole number up to {}", max_number));
  return *value;
}

Result<u64> KeyReader::number(std::string_view key, u64 missing) const {
  MU_ASSIGN(const std::optional<u64> value, find(key));
  return value.value_or(missing);
}

Result<u64> KeyReader::needed(std::string_view key, std::string_view because) const {
  MU_ASSIGN(const std::optional<u64> value, find(key));
  if (value) return *value;
  return wrong(key, because.empty() ? "is missing; the memory cannot be calculated without it"
                                    : fmt::format("is missing{}", because));
}

Result<std::optional<std::vector<u64>>> KeyReader::find_layers(std::string_view key, u64 count, u64 or_count) const {
  const std::string name = index_.arch_key(key);
  const gguf::ArrayRef* array = index_.array_value(name);
  const auto size = static_cast<std::size_t>(count);
  if (array == nullptr) {
    MU_ASSIGN(const std::optional<u64> value, find(key));
    if (!value) return std::nullopt;
    return std::vector<u64>(size, *value);
  }
  if (array->count != count && array->count != or_count) {
    return input_error("fit-layers",
                       fmt::format("is an array of {}, but the model has {}", array->count, counted(count, "layer")),
                       at_key(name));
  }
  if (gguf::value_size(array->element_type) == 0) return wrong(key, "is not an array of numbers");
  MU_ASSIGN(const std::vector<i64> read, gguf::read_numbers<i64>(*file_.source, file_.document, *array));
  std::vector<u64> values(size, 0);
  for (std::size_t i = 0; i < read.size() && i < size; ++i) {
    if (read[i] < 0 || static_cast<u64>(read[i]) > max_number) {
      return wrong(key, fmt::format("holds {}, which is not a number from 0 to {}", read[i], max_number));
    }
    values[i] = static_cast<u64>(read[i]);
  }
  return values;
}

Result<std::vector<u64>> KeyReader::layers(std::string_view key, u64 count, u64 missing) const {
  MU_ASSIGN(std::optional<std::vector<u64>> values, find_layers(key, count, count));
  return values ? std::move(*values) : std::vector<u64>(static_cast<std::size_t>(count), missing);
}

}  // namespace modelutils::memory
