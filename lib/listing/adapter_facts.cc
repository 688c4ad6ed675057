#include "listing/adapter_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "adapter/adapter.h"
#include "adapter/gguf_adapter.h"
#include "base/counted.h"

namespace modelutils {

namespace {

// Returns "4", or "2–8" if the targets differ.
template <typename Of>
std::string range_text(const std::vector<AdapterTarget>& targets, Of of) {
  const auto [least, most] = std::ranges::minmax_element(targets, {}, of);
  const std::string low = fmt::format("{:.6g}", static_cast<double>(std::invoke(of, *least)));
  const std::string high = fmt::format("{:.6g}", static_cast<double>(std::invoke(of, *most)));
  return low == high ? low : low + "–" + high;
}

}  // namespace

std::optional<AdapterFacts> adapter_facts(const gguf::SplitSet& set) {
  const gguf::Document& document = set.files.front().document;
  const gguf::Index index(document);
  const std::optional<adapter::GgufAdapter> found = adapter::gguf_adapter(document, index);
  if (!found) return std::nullopt;
  AdapterFacts facts;
  facts.form = "gguf";
  facts.alpha = found->alpha;
  for (const adapter::GgufPair& pair : found->pairs) {
    facts.targets.push_back(
        {std::string(pair.target), pair.rank(), found->scale_of(pair), pair.columns(), pair.rows(), pair.slices()});
  }
  facts.others = document.tensors.size() - 2 * found->pairs.size();
  return facts;
}

std::optional<AdapterFacts> adapter_facts(const SafetensorsModel& model) {
  if (!model.set.is_directory || !adapter::is_adapter(model.folder)) return std::nullopt;
  const Result<adapter::Adapter> read = adapter::read_adapter(model.folder, model.set);
  if (!read) return std::nullopt;
  AdapterFacts facts;
  facts.form = read->origin == adapter::Origin::peft ? "peft" : "mlx";
  facts.alpha = read->alpha;
  for (const adapter::Module& module : read->modules) {
    facts.targets.push_back(
        {module.name, module.rank(), module.scale, module.a.columns, module.b.rows, module.b.stack});
  }
  facts.others = read->extras.size();
  return facts;
}

std::vector<std::string> adapter_words(const AdapterFacts& facts) {
  std::vector<std::string> words = {"LoRA adapter"};
  if (!facts.targets.empty()) words.push_back("rank " + range_text(facts.targets, &AdapterTarget::rank));
  if (facts.alpha) words.push_back(fmt::format("alpha {}", *facts.alpha));
  if (!facts.targets.empty()) words.push_back("scale " + range_text(facts.targets, &AdapterTarget::scale));
  words.push_back(counted(facts.targets.size(), "matrix", "matrices"));
  if (facts.others > 0) words.push_back(counted(facts.others, "other tensor"));
  return words;
}

}  // namespace modelutils
