#include "report/importance_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "base/escape.h"
#include "base/text.h"
#include "report/layer_grid.h"
#include "report/table.h"

namespace modelutils {

namespace {

using quantize::ImportanceEntry;

// Returns "5, 17, 90", or "5, 17, 90 …" if there are more.
template <typename Items, typename Text>
std::string first_of(const Items& items, std::size_t most, Text&& text_of) {
  std::string text;
  for (std::size_t i = 0; i < items.size() && i < most; ++i) text += (i == 0 ? "" : ", ") + text_of(items[i]);
  return items.size() > most ? text + " …" : text;
}

std::vector<u64> unused_of(const ImportanceEntry& entry) {
  std::vector<u64> unused;
  for (std::size_t i = 0; i < entry.counts.size(); ++i) {
    if (entry.counts[i] <= 0) unused.push_back(i);
  }
  return unused;
}

std::string counts_text(const ImportanceEntry& entry) {
  const auto [low, high] = std::ranges::minmax_element(entry.counts);
  const auto text = [](i64 count) { return count < 0 ? std::to_string(count) : thousands(static_cast<u64>(count)); };
  return *low == *high ? text(*low) : fmt::format("{}–{}", text(*low), text(*high));
}

std::string unused_text(const ImportanceEntry& entry) {
  const std::vector<u64> unused = unused_of(entry);
  if (unused.empty()) return {};
  if (unused.size() == entry.counts.size()) return "all";
  constexpr std::size_t most = 8;
  return fmt::format("{} of {}: {}", unused.size(), entry.counts.size(),
                     first_of(unused, most, [](u64 number) { return std::to_string(number); }));
}

// Sorts for people: entries outside all layers first, then by layer number.
std::vector<std::size_t> ordered(const std::vector<ImportanceEntry>& entries) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t i) {
    const auto layer = parse_layer_name(entries[i].name);
    return std::pair(layer ? layer->layer + u64{1} : u64{0}, std::string_view(entries[i].name));
  };
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

}  // namespace

void write_importance_facts(TextOutput& out, const ImportanceFacts& facts, const ListingOptions& options) {
  const Style style(options.color);
  std::vector<std::string> covers = {counted(facts.matrix->entries().size(), "tensor")};
  if (facts.layers) covers.push_back(fmt::format("layers {}–{}", facts.layers->first, facts.layers->last));
  out << fact_lines("covers", covers, options.width, style);
  if (facts.layers && !facts.layers->missing.empty()) {
    constexpr std::size_t most = 4;
    out << fact_lines("not covered",
                      {counted(facts.layers->missing.size(), "tensor"),
                       first_of(facts.layers->missing, most, [](const std::string& name) { return escape(name); })},
                      options.width, style);
  }
  if (facts.never_used == 0) return;
  out << fact_lines(
      "never used",
      {fmt::format("{} of {} in {}", thousands(facts.never_used), counted(facts.matrices, "matrix", "matrices"),
                   counted(facts.tensors_never_used, "tensor"))},
      options.width, style);
}

void write_importance_table(TextOutput& out, const ImportanceFacts& facts, const ListingOptions& options) {
  const std::vector<ImportanceEntry>& entries = facts.matrix->entries();
  const Style style(options.color);
  out << "\n" << style(Paint::title, "Importance") << " " << style(Paint::faint, thousands(entries.size())) << "\n";
  const std::vector<std::size_t> order = ordered(entries);
  const auto row = [&](std::size_t i, std::vector<Cell>& cells) {
    const ImportanceEntry& entry = entries[order[i]];
    cells[0] = {escape(entry.name), Paint::plain};
    cells[1] = {thousands(entry.columns()), Paint::plain};
    cells[2] = {thousands(entry.counts.size()), Paint::plain};
    cells[3] = {counts_text(entry), Paint::number};
    cells[4] = {unused_text(entry), Paint::bad};
  };
  constexpr std::size_t least_name = 36;
  write_table(out,
              {{"name", Align::left, least_name, 0, 0, true},
               {"columns", Align::right, 0, 2},
               {"matrices", Align::right, 0, 1},
               {facts.matrix->is_legacy() ? "calls" : "tokens", Align::right},
               {"never used", Align::left, 0, 3}},
              entries.size(), row, {options.width, 2, true, style});
}

void write_importance_json(json::Writer& json, const ImportanceFacts& facts) {
  const quantize::ImportanceMatrix& matrix = *facts.matrix;
  const auto in_importance = json.object("importance");
  json.member("form", matrix.is_legacy() ? "dat" : "gguf");
  json.values("datasets", matrix.datasets());
  for (const auto& [name, number] :
       {std::pair("chunks", matrix.chunks()), std::pair("chunk_size", matrix.chunk_size())}) {
    json.key(name);
    number > 0 ? json.number(number) : json.null();
  }
  json.key("layers");
  if (facts.layers) {
    const auto in_array = json.array();
    json.number(facts.layers->first);
    json.number(facts.layers->last);
  } else {
    json.null();
  }
  {
    const auto in_not_covered = json.array("not_covered");
    if (facts.layers) {
      for (const std::string& name : facts.layers->missing) json.string(name);
    }
  }
  json.member("matrices", facts.matrices);
  json.member("never_used", facts.never_used);
  const auto in_entries = json.array("entries");
  for (const ImportanceEntry& entry : matrix.entries()) {
    const auto in_object = json.object();
    json.member("name", entry.name);
    json.member("columns", entry.columns());
    json.values("counts", entry.counts);
    json.values("never_used", unused_of(entry));
  }
}

}  // namespace modelutils
