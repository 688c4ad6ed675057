// What the reports of both conversions have in common: mlx2gguf's by GGUF types, gguf2mlx's by forms of MLX.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/writer.h"

namespace modelutils {

/// Tensors of one type or form, and their bytes.
struct KindTotal {
  u64 tensors = 0;
  u64 bytes = 0;
};
using KindTotals = std::map<std::string_view, KindTotal>;

/// `kind_of` gives a tensor's type or form.
template <typename Tensor, typename KindOf>
KindTotals totals_by_kind(const std::vector<Tensor>& tensors, const KindOf& kind_of) {
  KindTotals totals;
  for (const Tensor& tensor : tensors) {
    KindTotal& total = totals[kind_of(tensor)];
    ++total.tensors;
    total.bytes += tensor.bytes;
  }
  return totals;
}

/// An object with a member for each kind: tensors and bytes.
void write_totals(json::Writer& out, std::string_view name, const KindTotals& totals);
/// true, false, or null for what was not measured.
void write_exact(json::Writer& out, const std::optional<bool>& exact);
void write_texts(json::Writer& out, std::string_view name, std::span<const std::string> texts);

/// Tensors that were treated alike.
template <typename Tensor>
struct Alike {
  const Tensor* first;
  u64 tensors = 0;
  double rms = 0;      ///< the largest
  double max_abs = 0;  ///< likewise, where it is measured
};

/// The tensors of the text, each its own group (`all`), or those of one key that are not exact together, in the order
/// of the first of each. `measure(tensor, group)` adds the errors of one.
template <typename Tensor, typename KeyOf, typename Measure>
std::vector<Alike<Tensor>> alike_tensors(const std::vector<Tensor>& tensors, bool all, const KeyOf& key_of,
                                         const Measure& measure) {
  std::vector<Alike<Tensor>> groups;
  std::map<decltype(key_of(tensors.front())), std::size_t> places;
  for (const Tensor& tensor : tensors) {
    if (!all && tensor.exact == true) continue;
    const auto [place, is_new] = places.try_emplace(key_of(tensor), groups.size());
    if (all || is_new) {
      place->second = groups.size();
      groups.push_back({&tensor});
    }
    Alike<Tensor>& group = groups[place->second];
    ++group.tensors;
    measure(tensor, group);
  }
  return groups;
}

/// The width of the names of tensors that are a group of their own.
template <typename Tensor>
std::size_t name_width(const std::vector<Alike<Tensor>>& groups) {
  std::size_t width = 4;
  for (const Alike<Tensor>& group : groups) {
    if (group.tensors == 1) width = std::max(width, group.first->name.size());
  }
  return width;
}

/// " (why)", or nothing.
std::string reason_text(std::string_view reason);

/// The numbers of the last line.
struct ConversionCounts {
  u64 tensors = 0;
  u64 bytes = 0;
  u64 inexact = 0;
  u64 unmeasured = 0;
};
/// "62 tensors (30 BF16, 32 F32), 973152 bytes, all exact\n"
std::string counts_text(const ConversionCounts& counts, const KindTotals& totals, std::string_view separator);

}  // namespace modelutils
