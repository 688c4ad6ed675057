#include "listing/importance_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

namespace modelutils {

namespace {

constexpr u64 most_layers = 4096;  // the largest models have a few hundred

// Splits "blk.3.ffn_up.weight" into "3" and "ffn_up.weight".
std::optional<std::pair<u64, std::string_view>> layer_of(std::string_view name) {
  constexpr std::string_view prefix = "blk.";
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  u64 layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  const auto digits = static_cast<std::size_t>(end - name.data());
  if (error != std::errc{} || digits == name.size() || name[digits] != '.' || layer >= most_layers) return std::nullopt;
  return std::pair(layer, name.substr(digits + 1));
}

// Considers only roles that most layers between the first and the last have. Layers lack other roles on purpose.
std::optional<CoveredLayers> covered_layers(const quantize::ImportanceMatrix& matrix) {
  std::map<std::string_view, std::vector<u64>> layers_of_role;
  CoveredLayers covered{.first = most_layers, .last = 0, .missing = {}};
  for (const quantize::ImportanceEntry& entry : matrix.entries()) {
    const auto place = layer_of(entry.name);
    if (!place) continue;
    layers_of_role[place->second].push_back(place->first);
    covered.first = std::min(covered.first, place->first);
    covered.last = std::max(covered.last, place->first);
  }
  if (layers_of_role.empty()) return std::nullopt;
  const u64 count = covered.last - covered.first + 1;
  for (auto& [role, layers] : layers_of_role) {
    std::ranges::sort(layers);
    if (layers.size() == count || layers.size() * 4 < count * 3) continue;
    for (u64 layer = covered.first; layer <= covered.last; ++layer) {
      if (std::ranges::binary_search(layers, layer)) continue;
      covered.missing.push_back(fmt::format("blk.{}.{}", layer, role));
    }
  }
  return covered;
}

}  // namespace

ImportanceFacts importance_facts(std::shared_ptr<const quantize::ImportanceMatrix> matrix) {
  ImportanceFacts facts;
  facts.layers = covered_layers(*matrix);
  for (const quantize::ImportanceEntry& entry : matrix->entries()) {
    facts.matrices += entry.counts.size();
    facts.never_used += entry.never_used();
    if (entry.never_used() > 0) ++facts.tensors_never_used;
  }
  facts.matrix = std::move(matrix);
  return facts;
}

std::optional<ImportanceFacts> importance_facts(const gguf::SplitSet& set) {
  const gguf::SetFile& file = set.files.front();
  if (set.is_split() || !file.document.complete || !file.source->size()) return std::nullopt;
  if (file.document.big_endian || !quantize::is_importance(file.document)) return std::nullopt;
  auto matrix = quantize::ImportanceMatrix::read(file.source, file.path, file.document);
  if (!matrix) return std::nullopt;  // verify reports the error
  return importance_facts(std::move(*matrix));
}

}  // namespace modelutils
