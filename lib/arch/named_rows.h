// Looks up rows of shared tables by name, for families that use or change some of them. An unknown name does not
// compile, so removing or renaming a shared row shows every family that uses it.
#pragma once

#include <array>
#include <string_view>

#include "arch/family.h"

namespace modelutils::arch {

constexpr std::string_view name_of(const Key& row) {
  return row.name;
}
constexpr std::string_view name_of(const Tensor& row) {
  return row.name;
}
constexpr std::string_view name_of(const Fixed& row) {
  return row.field;
}

// Never defined: a constant expression that calls these does not compile, and the error quotes the name.
void no_row_has_this_name(std::string_view name);
void several_rows_have_this_name(std::string_view name);

/// Returns the one row with this name: `named(keys, "attention.head_count_kv").derive_layers = kv_heads;`
template <typename Rows>
constexpr auto& named(Rows& rows, std::string_view name) {
  auto* found = std::data(rows);
  std::size_t count = 0;
  for (auto& row : rows) {
    if (name_of(row) != name) continue;
    found = &row;
    ++count;
  }
  if (count == 0) no_row_has_this_name(name);
  if (count > 1) several_rows_have_this_name(name);
  return *found;
}

/// Concatenates tables.
template <typename Row, std::size_t... N>
constexpr std::array<Row, (N + ...)> joined(const std::array<Row, N>&... tables) {
  std::array<Row, (N + ...)> rows = {};
  auto next = rows.begin();
  const auto append = [&](const auto& table) {
    for (const Row& row : table) *next++ = row;
  };
  (append(tables), ...);
  return rows;
}

}  // namespace modelutils::arch
