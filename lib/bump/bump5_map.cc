#include "bump/bump5_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace modelutils::bump5 {

namespace {

// Parses a number like C's strtoull() with base 0.
std::optional<u64> number_of(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8;
  }
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::string_view> next_field(std::string_view& rest) {
  if (rest.data() == nullptr) return std::nullopt;
  const std::size_t bar = rest.find('|');
  const std::string_view field = rest.substr(0, bar);
  rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
  return field;
}

std::optional<MapLine> line_of(std::string_view text) {
  const auto name = next_field(text);
  const auto dtype = next_field(text);
  const auto offset = next_field(text);
  const auto size = next_field(text);
  const auto place = next_field(text);
  if (!name || !dtype || !offset || !size || !place) return std::nullopt;
  const std::optional<u64> numbers[] = {number_of(*offset), number_of(*size), number_of(*place)};
  if (!numbers[0] || !numbers[1] || !numbers[2]) return std::nullopt;
  return MapLine{*name, *dtype, *numbers[0], *numbers[1], *numbers[2]};
}

// Sorts by offset; an empty entry comes after the one at the same offset.
std::vector<Entry> in_map_order(std::span<const Entry> entries) {
  std::vector<Entry> ordered(entries.begin(), entries.end());
  std::ranges::stable_sort(ordered, [](const Entry& a, const Entry& b) {
    return a.offset != b.offset ? a.offset < b.offset : (a.size != 0 && b.size == 0);
  });
  return ordered;
}

}  // namespace

std::string map_text(std::span<const Entry> entries) {
  std::string text =
      "# ck-bumpwgt5-manifest-map v1\n"
      "# name|dtype|file_offset|size|runtime_offset\n";
  for (const Entry& entry : in_map_order(entries)) {
    text += fmt::format("{}|{}|0x{:016X}|0x{:016X}|0x{:016X}\n", entry.name(), entry.word(), entry.offset, entry.size,
                        entry.offset);
  }
  return text;
}

void visit_map(std::string_view text, const std::function<void(u64 line, const std::optional<MapLine>&)>& visit) {
  for (u64 number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && line.front() != '#') visit(number, line_of(line));
  }
}

}  // namespace modelutils::bump5
