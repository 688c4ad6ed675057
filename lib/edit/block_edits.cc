#include "edit/block_edits.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "arch/families.h"
#include "arch/key_facts.h"
#include "arch/names.h"
#include "arch/prediction_rows.h"
#include "base/text.h"
#include "formats/gguf/write.h"
#include "model/memory/hyper_parameters.h"

namespace modelutils::edit {

namespace {

std::string_view without_blanks(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t') || text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::optional<u64> number_of(std::string_view text) {
  text = without_blanks(text);
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

bool looks_like_number_list(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789,- ") == std::string_view::npos;
}

Result<std::vector<u64>> parse_number_list(std::string_view text, u64 end, std::string_view what,
                                           const std::string& operation) {
  std::vector<u64> numbers;
  const std::string whole(without_blanks(text));
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    const std::optional<u64> first = number_of(part.substr(0, dash));
    const std::optional<u64> last = dash == std::string_view::npos ? first : number_of(part.substr(dash + 1));
    if (!first || !last || *last < *first) {
      return usage_error(fmt::format("{} needs a list like 0-31,40, not '{}'", operation, whole));
    }
    if (*last >= end) {
      return input_error("edit-number", fmt::format("{}: there is no {} {}; the last is {}", operation, what, *last,
                                                    end == 0 ? 0 : end - 1));
    }
    for (u64 number = *first; number <= *last; ++number) numbers.push_back(number);
    if (numbers.size() > 2 * end) {  // repeats must not use unlimited memory
      std::ranges::sort(numbers);
      numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

namespace {

constexpr u64 softmax_gating = 1;

class ExpertCut {
 public:
  ExpertCut(EditedModel& model, const EditOperation& operation, bool force)
      : model_(model), operation_(operation), force_(force), counts_(counts_of(model)) {}

  Status cut() {
    experts_ = count_of(model_, counts_.key("expert_count"));
    if (experts_ == 0) return refuse("the model has no experts", counts_.key("expert_count"));
    family_ = arch::find_gguf_family(counts_.architecture, true);
    if (family_ == nullptr) {
      return refuse(fmt::format("the experts of architecture '{}' are not known", counts_.architecture),
                    "general.architecture");
    }
    MU_TRY(read_lists());
    MU_TRY(check_counts());
    if (!force_) MU_TRY(check_weights());
    const arch::Names names(*family_);
    for (EditedTensor& tensor : model_.tensors) MU_TRY(cut_tensor(names, tensor));
    if (!is_cut_) return refuse("no tensor has experts", counts_.key("expert_count"));
    change_keys();
    return {};
  }

 private:
  tl::unexpected<Error> refuse(const std::string& message, const std::string& key) const {
    return input_error("edit-experts", fmt::format("{}: {}", operation_.where(), message), at_key(key));
  }

  Status read_lists() {
    const std::string& operand = operation_.operands.front();
    if (looks_like_number_list(operand)) return read_list(operand, {});
    MU_ASSIGN(const std::string text, read_operand_file(operand));
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.find_first_not_of(" \t\r") == std::string_view::npos || line.starts_with('#')) continue;
      const std::size_t colon = line.find(':');
      if (colon == std::string_view::npos) {
        MU_TRY(read_list(line, {}));
        continue;
      }
      MU_ASSIGN(const std::vector<u64> layers,
                parse_number_list(line.substr(0, colon), counts_.blocks, "layer", operation_.where()));
      for (const u64 layer : layers) MU_TRY(read_list(line.substr(colon + 1), layer));
    }
    if (kept_ == 0) return usage_error(fmt::format("{}: '{}' names no experts", operation_.where(), operand));
    return {};
  }

  Status read_list(std::string_view text, std::optional<u64> layer) {
    MU_ASSIGN(std::vector<u64> list, parse_number_list(text, experts_, "expert", operation_.where()));
    if (kept_ != 0 && list.size() != kept_) {
      return refuse(
          fmt::format("{} are kept in one layer and {} in another, but a GGUF has a single expert count for all layers",
                      counted(kept_, "expert"), list.size()),
          counts_.key("expert_count"));
    }
    kept_ = list.size();
    if (layer) {
      by_layer_[*layer] = std::move(list);
    } else {
      for_all_ = std::move(list);
    }
    return {};
  }

  const std::vector<u64>& kept_in(u64 layer) const {
    const auto found = by_layer_.find(layer);
    return found == by_layer_.end() ? for_all_ : found->second;
  }

  Status check_counts() {
    const gguf::OutKey* used = model_.find_key(counts_.key("expert_used_count"));
    const gguf::KeyElements elements = used == nullptr ? gguf::KeyElements{} : gguf::elements_of(*used);
    for (u64 i = 0; i < elements.count.value_or(1); ++i) {
      const u64 number = elements.number(i).value_or(0);
      if (number <= kept_) continue;
      return refuse(
          fmt::format("{} would be left, but the router selects {} per token", counted(kept_, "expert"), number),
          counts_.key("expert_used_count"));
    }
    const u64 groups = count_of(model_, counts_.key("expert_group_count"));
    if (groups <= 1) return {};
    MU_TRY(check_groups(groups, for_all_));
    for (const auto& [layer, list] : by_layer_) MU_TRY(check_groups(groups, list));
    return {};
  }

  // Groups are runs of layers of equal length, and must remain so.
  Status check_groups(u64 groups, const std::vector<u64>& list) const {
    if (list.empty() || experts_ % groups != 0) return {};
    std::vector<u64> left(static_cast<std::size_t>(groups), 0);
    for (const u64 expert : list) ++left[static_cast<std::size_t>(expert / (experts_ / groups))];
    if (std::ranges::all_of(left, [&](u64 number) { return number == left.front() && number > 1; })) return {};
    return refuse(fmt::format("experts are in {} groups of {}: keep the same number of each group, at least 2", groups,
                              experts_ / groups),
                  counts_.key("expert_group_count"));
  }

  // Checks that the remaining experts' weights stay the same for every token that chose none of the dropped ones.
  Status check_weights() {
    const u64 groups = count_of(model_, counts_.key("expert_group_count"));
    const u64 used_groups = count_of(model_, counts_.key("expert_group_used_count"));
    if (groups > 1 && used_groups < groups) {
      return refuse("groups are chosen by their best experts, so another group may win; --force drops them anyway",
                    counts_.key("expert_group_count"));
    }
    if (family_->renormalises_experts) return {};
    const gguf::OutKey* gating = model_.find_key(counts_.key("expert_gating_func"));
    if (gating != nullptr && gguf::elements_of(*gating).number(0).value_or(softmax_gating) > softmax_gating) return {};
    const gguf::OutKey* norm = model_.find_key(counts_.key("expert_weights_norm"));
    if (norm != nullptr && gguf::elements_of(*norm).number(0) == u64{1}) return {};
    return refuse(
        "expert weights are normalised over all experts, so the remaining ones would weigh more; --force drops them "
        "anyway",
        counts_.key("expert_weights_norm"));
  }

  // Returns the dimension that counts experts in a tensor of this name, or nullopt if it has none.
  std::optional<std::size_t> dimension_of_experts(const arch::Names& names, const EditedTensor& tensor) const {
    constexpr std::string_view suffixes[] = {".scale", ".input_scale"};
    for (const std::string_view suffix : suffixes) {
      const std::string& name = tensor.out.name;
      if (!name.ends_with(suffix)) continue;
      const std::string weight = name.substr(0, name.size() - suffix.size()) + ".weight";
      const arch::Names::Place place = names.find_gguf(weight);
      const bool counts = place.row != nullptr && ends_with_experts(place.row->ne);
      return counts && tensor.out.ne == std::vector<u64>{experts_} ? std::optional<std::size_t>(0) : std::nullopt;
    }
    const arch::Names::Place place = names.find_gguf(tensor.out.name);
    if (place.row == nullptr || !ends_with_experts(place.row->ne)) return std::nullopt;
    return tensor.out.ne.empty() ? 0 : tensor.out.ne.size() - 1;
  }
  static bool ends_with_experts(std::string_view ne) {
    const std::vector<std::string_view> all = arch::dimensions_of(ne);
    return !all.empty() && all.back() == arch::symbol::experts;
  }

  Status cut_tensor(const arch::Names& names, EditedTensor& tensor) {
    const auto dimension = dimension_of_experts(names, tensor);
    if (!dimension) return {};
    std::vector<u64>& ne = tensor.out.ne;
    const std::string where = at_tensor(tensor.out.name);
    if (ne.empty() || ne[*dimension] != experts_ || tensor.bytes % experts_ != 0 || !tensor.slices.empty()) {
      return input_error("edit-experts",
                         fmt::format("{}: is not made of {} experts of equal size", operation_.where(), experts_),
                         where);
    }
    const std::vector<u64>& kept = kept_in(arch::block_of(tensor.out.name).value_or(0));
    if (kept.empty()) {
      return input_error("edit-experts", operation_.where() + ": no list names the experts to keep in this layer",
                         where);
    }
    const u64 size = tensor.bytes / experts_;
    for (const u64 expert : kept) {
      if (!tensor.slices.empty() && tensor.slices.back().from + tensor.slices.back().size == expert * size) {
        tensor.slices.back().size += size;
      } else {
        tensor.slices.push_back({expert * size, size});
      }
    }
    ne[*dimension] = kept.size();
    tensor.bytes = size * kept.size();
    is_cut_ = true;
    return {};
  }

  void change_keys() {
    const auto kept = static_cast<u32>(kept_);
    *model_.find_key(counts_.key("expert_count")) = gguf::make_key(counts_.key("expert_count"), kept);
    // The size label contains the expert count, as in "8x7B".
    gguf::OutKey* label = model_.find_key("general.size_label");
    const auto text = label == nullptr ? std::nullopt : gguf::elements_of(*label).text();
    const std::string counted_before = fmt::format("{}x", experts_);
    if (!text || !text->starts_with(counted_before)) return;
    *label = gguf::make_key_string(label->key, fmt::format("{}x{}", kept_, text->substr(counted_before.size())));
  }

  EditedModel& model_;
  const EditOperation& operation_;
  bool force_;
  BlockCounts counts_;
  const arch::Family* family_ = nullptr;
  u64 experts_ = 0;
  u64 kept_ = 0;
  bool is_cut_ = false;
  std::vector<u64> for_all_;
  std::map<u64, std::vector<u64>> by_layer_;
};

}  // namespace

Status keep_experts(EditedModel& model, const EditOperation& operation, bool force) {
  return ExpertCut(model, operation, force).cut();
}

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

  // Checks for properties that llama.cpp derives from fixed layer numbers.
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
