#include "edit/block_edits.h"

#include <fmt/core.h>

#include <algorithm>

#include "arch/families.h"
#include "arch/key_facts.h"
#include "arch/prediction_block.h"
#include "base/counted.h"
#include "edit/number_list.h"
#include "gguf/key_elements.h"
#include "memory/hyper_parameters.h"

namespace modelutils::edit {

namespace {

class LayerCut {
 public:
  LayerCut(EditedModel& model, const EditOperation& operation, bool force)
      : model_(model), operation_(operation), force_(force), counts_(counts_of(model)) {}

  Status cut() {
    MU_ASSIGN(dropped_, parse_number_list(operation_.operands.front(), counts_.trunk(), "layer", operation_.where()));
    if (dropped_.size() >= counts_.trunk()) return refuse("no layer would be left", counts_.key("block_count"));
    if (!force_) MU_TRY(check_family());
    MU_TRY(cut_keys());
    cut_tensors();
    note_kept_layers();
    return {};
  }

 private:
  tl::unexpected<Error> refuse(const std::string& message, const std::string& key) const {
    return input_error("edit-layers", fmt::format("{}: {}", operation_.where(), message), at_key(key));
  }

  bool is_dropped(u64 layer) const { return std::ranges::binary_search(dropped_, layer); }
  u64 dropped_below(u64 layer) const {
    return static_cast<u64>(std::ranges::lower_bound(dropped_, layer) - dropped_.begin());
  }
  u64 new_number(u64 layer) const { return layer - dropped_below(layer); }

  // Checks for properties that llama.cpp ties to fixed layer numbers.
  Status check_family() const {
    const std::string& architecture = counts_.architecture;
    const arch::Family* family = arch::find_gguf_family(architecture, true);
    if (family == nullptr) family = arch::find_gguf_family(architecture, false);
    if (family == nullptr) {
      return refuse(
          fmt::format("the layers of architecture '{}' are not known; --force drops them anyway", architecture),
          "general.architecture");
    }
    const u64 before = counts_.trunk(), after = before - dropped_.size();
    for (const u64 count : {before, after}) {
      if (!arch::has_name(family->layer_counts, fmt::format("{}", count))) continue;
      return refuse(fmt::format("with {} llama.cpp takes it for a different model and computes differently",
                                counted(count, "layer")),
                    counts_.key("block_count"));
    }
    if (family->cache.shares_last_layers || family->cache.cached_layers != 0) {
      return refuse("the last layers reuse the keys and values of earlier layers, found by layer number",
                    counts_.key("block_count"));
    }
    if (const u64 period = family->unrotated_every; period != 0) {
      for (u64 layer = 0; layer < counts_.trunk(); ++layer) {
        if (is_dropped(layer) || ((layer + 1) % period == 0) == ((new_number(layer) + 1) % period == 0)) continue;
        return refuse(
            fmt::format(
                "llama.cpp rotates all but every {}th layer, and layer {} would become number {} (counted from 1)",
                period, layer, new_number(layer) + 1),
            counts_.key("block_count"));
      }
    }
    return {};
  }

  Status cut_keys() {
    const std::string prefix = counts_.key("");
    for (gguf::OutKey& key : model_.keys) {
      const bool is_count = key.key == counts_.key("block_count"), is_dense = key.key == dense_key();
      if (is_count) key = gguf::make_key(key.key, static_cast<u32>(counts_.blocks - dropped_.size()));
      if (is_dense) {
        const auto layers = static_cast<u32>(count_of(model_, key.key));
        key = gguf::make_key(key.key, static_cast<u32>(new_number(layers)));
      }
      MU_TRY(cut_array(key));
    }
    return {};
  }
  std::string dense_key() const { return counts_.key("leading_dense_block_count"); }

  Status cut_array(gguf::OutKey& key) const {
    const gguf::KeyElements elements = gguf::elements_of(key);
    const u64 size = elements.element_size();
    if (elements.count != counts_.blocks || size == 0 || elements.bytes.size() / size != counts_.blocks) return {};
    const arch::KeyFacts* facts = arch::find_key_facts(key.key, counts_.architecture);
    if (facts != nullptr && !facts->has_one_for_each_layer()) return {};
    if (facts == nullptr && (force_ || !key.key.starts_with(counts_.key("")))) return {};
    if (facts == nullptr) {
      return refuse(
          fmt::format(
              "this array of {} is not known and may have an element for each layer; --force leaves it unchanged",
              counts_.blocks),
          key.key);
    }
    std::string bytes;
    for (u64 layer = 0; layer < counts_.blocks; ++layer) {
      if (!is_dropped(layer)) bytes += elements.bytes.substr(static_cast<std::size_t>(layer * size), size);
    }
    key = gguf::make_key_of_elements(std::move(key.key), elements.type, bytes);
    return {};
  }

  void cut_tensors() {
    std::erase_if(model_.tensors, [&](const EditedTensor& tensor) {
      const std::optional<u64> layer = arch::block_of(tensor.out.name);
      return layer && is_dropped(*layer);
    });
    for (EditedTensor& tensor : model_.tensors) {
      const std::optional<u64> layer = arch::block_of(tensor.out.name);
      if (!layer) continue;
      const std::string& name = tensor.out.name;
      tensor.out.name = fmt::format("blk.{}{}", new_number(*layer), name.substr(name.find('.', 4)));
    }
  }

  // Old numbers refer to the original file, even after several cuts.
  void note_kept_layers() {
    std::vector<u64> kept;
    for (u64 layer = 0; layer < counts_.blocks; ++layer) {
      if (is_dropped(layer)) continue;
      const auto place = static_cast<std::size_t>(layer);
      kept.push_back(place < model_.kept_layers.size() ? model_.kept_layers[place] : layer);
    }
    model_.kept_layers = std::move(kept);
  }

  EditedModel& model_;
  const EditOperation& operation_;
  bool force_;
  BlockCounts counts_;
  std::vector<u64> dropped_;
};

}  // namespace

Status drop_layers(EditedModel& model, const EditOperation& operation, bool force) {
  return LayerCut(model, operation, force).cut();
}

Status check_kept_layers(const gguf::SplitSet& before, const gguf::SplitSet& after, const std::vector<u64>& kept) {
  MU_ASSIGN(const auto old_model, memory::read_hyper_parameters(before, false));
  MU_ASSIGN(const auto new_model, memory::read_hyper_parameters(after, false));
  if (!old_model || !new_model) return {};
  for (std::size_t i = 0; i < std::min(kept.size(), new_model->slides.size()); ++i) {
    const auto was = static_cast<std::size_t>(kept[i]);
    if (was >= old_model->slides.size()) continue;
    const bool slides = new_model->slides[i], is_recurrent = new_model->is_recurrent[i];
    if (slides == old_model->slides[was] && is_recurrent == old_model->is_recurrent[was]) continue;
    const std::string_view kind = slides != old_model->slides[was]
                                      ? (slides ? "have a sliding window" : "see every token")
                                  : is_recurrent ? "be recurrent"
                                                 : "have attention";
    return input_error("edit-layers",
                       fmt::format("--drop-layers: as layer {}, the old layer {} would {} in llama.cpp, which it does "
                                   "not now: the kind of a layer follows from its number",
                                   i, was, kind),
                       at_key(new_model->architecture + ".block_count"));
  }
  return {};
}

}  // namespace modelutils::edit
